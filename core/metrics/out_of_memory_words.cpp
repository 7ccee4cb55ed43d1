#include "core/metrics/out_of_memory_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <type_traits>

#include "core/base/format.hpp"
#include "core/base/saturating.hpp"
#include "core/metrics/base/code_place.hpp"
#include "core/metrics/findings/shared/advice.hpp"

namespace sluice::metrics {
namespace {

/// The maximum number of stacks that are resolved. Other stacks are summed up as others.
constexpr std::size_t max_named = 256;
constexpr std::size_t max_places = 3;  ///< The maximum number of places in the sentence about a change.

class failure_words {
 public:
  failure_words(out_of_memory metrics, const trace::tables& tables, const naming& names)
      : places_(tables, names), tables_(tables) {
    all_.metrics = std::move(metrics);
  }

  out_of_memory_report make() {
    out_of_memory& memory = all_.metrics;
    all_.where = places_.of(memory.stack);
    maker_ = find_maker(all_.where, memory.layer);
    all_.categories = grouped(memory.held, [](const held_share& each, const code_place&) { return each.category; });
    // Only framework blocks have categories.
    if (all_.categories.lines.size() == 1 && all_.categories.lines.front().category == index::category::none)
      all_.categories = {};
    const auto line = [](const code_place& place) { return to_text(place); };
    const auto module = [](const code_place& place) { return place.module; };
    all_.lines = listed(memory.held, line);
    all_.modules = listed(memory.held, module);
    std::erase_if(all_.modules.lines, [](const oom_line& each) { return each.place.module.empty(); });
    all_.unused = listed(memory.unused, line);
    all_.grown = listed(memory.grown, line);
    all_.pins = listed(memory.pins, line);
    shortage();
    facts();
    for (const checked_change& each : memory.changes) all_.changes.push_back(change(each));
    verdict();
    memory.held = memory.unused = memory.grown = memory.pins = {};
    memory.changes = {};
    return std::move(all_);
  }

 private:
  /// Groups `shares`, which are sorted, by the `key` of their places.
  template <class Key>
  oom_list listed(const std::vector<held_share>& shares, Key&& key) {
    return grouped(shares, [&](const held_share&, const code_place& place) -> std::string { return key(place); });
  }

  template <class Key>
  oom_list grouped(const std::vector<held_share>& shares, Key&& key) {
    oom_list list;
    std::map<std::invoke_result_t<Key, const held_share&, const code_place&>, oom_line> groups;
    std::size_t named = 0;
    for (const held_share& each : shares) {
      list.blocks += each.blocks;
      saturating_add(list.bytes, each.bytes);
      if (named++ >= max_named) {
        list.other_blocks += each.blocks;
        saturating_add(list.other_bytes, each.bytes);
        continue;
      }
      const code_place& place = places_.of(each.stack);
      oom_line& to = groups[key(each, place)];
      if (to.blocks == 0) {
        to.place = place;
        to.category = each.category;
      }
      to.blocks += each.blocks;
      saturating_add(to.bytes, each.bytes);
      to.pinned_bytes = std::max(to.pinned_bytes, each.pinned_bytes);
      if (to.largest == trace::block_id::none || each.largest_bytes > to.largest_bytes) {
        to.largest = each.largest;
        to.largest_bytes = each.largest_bytes;
        to.last_use = each.last_use;
      }
    }
    for (auto& [name, line] : groups) list.lines.push_back(std::move(line));
    std::stable_sort(list.lines.begin(), list.lines.end(), [](const oom_line& a, const oom_line& b) {
      return std::pair(a.pinned_bytes, a.bytes) > std::pair(b.pinned_bytes, b.bytes);
    });
    for (std::size_t i = oom_list::limit; i < list.lines.size(); ++i) {
      list.other_blocks += list.lines[i].blocks;
      saturating_add(list.other_bytes, list.lines[i].bytes);
    }
    if (list.lines.size() > oom_list::limit) list.lines.resize(oom_list::limit);
    return list;
  }

  // --- facts ---------------------------------------------------------------------------------------------------------

  void fact(std::string_view label, std::string text) { all_.facts.emplace_back(label, std::move(text)); }

  /// `missing` is an upper bound unless the free memory at the failure is known.
  void shortage() {
    const out_of_memory& memory = all_.metrics;
    const bool known =
        memory.limit == memory_limit::device && memory.device_free_known && memory.device_free < memory.needed;
    all_.short_by = (known ? "" : "up to ") + format_bytes(get_shortage(memory));
    std::string& text = all_.shortage;
    text = fmt::format("Short by {}: {} asked", all_.short_by, format_bytes(memory.asked));
    if (memory.needed > memory.asked) text += fmt::format(", which takes a segment of {}", format_bytes(memory.needed));
    if (known)
      text += fmt::format("; {} free on the GPU", format_bytes(memory.device_free));
    else if (memory.limit == memory_limit::framework)
      text += "; how much is left below PyTorch's own limit is unknown";
    else if (memory.device_free_known)
      text += fmt::format("; {} free on the GPU when last sampled, but not at the failure",
                          format_bytes(memory.device_free));
    else
      text += "; the free memory on the GPU is unknown";
    if (memory.releasable > 0)
      text += fmt::format(", and {} that PyTorch could give back", format_bytes(memory.releasable));
    else if (memory.layer == trace::layer::framework && memory.reserved > memory.used)
      text += fmt::format(", and {} in holes that PyTorch could not use", format_bytes(memory.reserved - memory.used));
  }

  void facts() {
    const out_of_memory& memory = all_.metrics;
    const std::string_view call = tables_.text(memory.call);
    const std::string where = to_text(all_.where);
    std::string asked = format_bytes(memory.asked);
    if (!call.empty()) asked += fmt::format(" from {}", call);
    if (!where.empty()) asked += fmt::format(", by {}", where);
    if (all_.where.known && all_.where.caller != all_.where.line && !symbols::get_place(all_.where.caller).empty())
      asked += fmt::format(", called from {}", symbols::get_place(all_.where.caller));
    if (memory.needed > memory.asked) asked += fmt::format("; takes a segment of {}", format_bytes(memory.needed));
    fact("requested", std::move(asked));
    switch (memory.limit) {
      case memory_limit::device:
        fact("limit",
             memory.device_bytes > 0 ? format_bytes(memory.device_bytes) + ", the GPU's memory" : "the GPU's memory");
        break;
      case memory_limit::framework:
        fact("limit", fmt::format("{} to {}, PyTorch's own (set_per_process_memory_fraction)",
                                  format_bytes(memory.limit_from), format_bytes(memory.limit_to)));
        break;
      case memory_limit::unknown:
        fact("limit", "unknown");
        break;
    }
    std::uint64_t blocks = all_.lines.blocks;
    all_.in_use =
        fmt::format("{} in {}{}", format_bytes(memory.used), format_some(blocks, "block"),
                    memory.segments > 0 ? fmt::format(", in {} of segments", format_bytes(memory.reserved)) : "");
    fact("in use", all_.in_use);
    std::string free =
        memory.device_free_known ? format_bytes(memory.device_free) + " on the GPU" : "unknown on the GPU";
    if (memory.reserved > memory.used) {
      free += fmt::format("; {} in {}", format_bytes(memory.reserved - memory.used),
                          memory.layer == trace::layer::framework ? "the cache" : "the pool");
      if (memory.largest_hole > 0) free += fmt::format(", largest hole {}", format_bytes(memory.largest_hole));
    }
    all_.free = std::move(free);
    fact("free", all_.free);
    if (memory.others > 0)
      fact("others", format_bytes(memory.others) + " in CUDA contexts, libraries and other processes");
    fact("short by", all_.short_by);
    if (memory.seen_from != trace::unknown_time)
      fact("analyzed",
           fmt::format(
               "only the time from {} on, {} before the failure, because in a large recording, only one section is "
               "analyzed. A block that was used earlier counts as used at the start of that time, and changes "
               "that need more of the recording cannot be replayed.",
               format_moment(memory.seen_from), format_time(memory.time - memory.seen_from)));
  }

  // --- changes -------------------------------------------------------------------------------------------------------

  /// Returns text such as ", from train.py:12 (history), and others".
  std::string from_lines(const oom_list& list) const {
    std::vector<std::string> known;
    std::size_t more = 0;
    for (const oom_line& each : list.lines) {
      const std::string text = to_text(each.place);
      if (text.empty()) continue;
      if (known.size() < max_places)
        known.push_back(text);
      else
        ++more;
    }
    std::string line;
    for (std::size_t i = 0; i < known.size(); ++i) line += (i == 0 ? ", from " : ", ") + known[i];
    if (more > 0 || list.other_blocks > 0) line += " and others";
    return line;
  }

  oom_change change(const checked_change& subject) {
    const auto line = [](const code_place& place) { return to_text(place); };
    const auto module = [](const code_place& place) { return place.module; };
    const oom_list by = listed(subject.blocks, line);
    oom_change output;
    output.kind = subject.kind;
    output.checked_by = subject.checked_by;
    output.freed = subject.freed;
    output.reserved = subject.reserved;
    std::string maker = maker_;
    if (!by.lines.empty()) {
      output.where = by.lines.front().place;
      output.block = by.lines.front().largest;
      if (!output.where.maker.empty()) maker = output.where.maker;
    }
    const std::string some = fmt::format("{} ({})", format_some(by.blocks, "block"), format_bytes(subject.freed));
    switch (subject.kind) {
      case remedy::free_unused:
        output.text = fmt::format("Free {} that are no longer used{}.", some, from_lines(by));
        output.advice = free_unused(maker);
        break;
      case remedy::expandable_segments:
        output.text = fmt::format("Set expandable_segments:True: PyTorch then reserves at most {} with this request.",
                                  format_bytes(subject.reserved));
        output.advice = "Set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True before the program starts.";
        break;
      case remedy::move_idle_state: {
        const index::category wanted = by.lines.empty() ? index::category::none : by.lines.front().category;
        output.text =
            fmt::format("Keep {}{} on the host while nothing uses {}{}.", some,
                        wanted == index::category::none ? "" : fmt::format(" of {}", index::category_name(wanted)),
                        by.blocks == 1 ? "it" : "them", from_lines(by));
        output.advice = move_idle(maker);
        break;
      }
      case remedy::checkpoint: {
        std::string names;
        for (const oom_line& each : listed(subject.blocks, module).lines)
          names += (names.empty() ? "" : ", ") + each.place.module;
        output.text = fmt::format("Checkpoint {}: {} less for activations, if each call keeps only its input.", names,
                                  format_bytes(subject.freed));
        output.advice = maker == "JAX" ? "Wrap the function in jax.checkpoint; it is recomputed in the backward pass."
                                       : "Call the module through torch.utils.checkpoint.checkpoint(module, x, "
                                         "use_reentrant=False); it is recomputed in the backward pass.";
        break;
      }
      case remedy::smaller_batch:
        output.text = fmt::format(
            "Halve the batch: {} less, if activations, inputs and workspaces shrink with it; at most {} reserved then.",
            format_bytes(subject.freed), format_bytes(subject.reserved));
        output.advice = "Use half the batch, and accumulate the gradients of two batches before optimizer.step().";
        break;
    }
    return output;
  }

  static std::string free_unused(std::string_view maker) {
    std::string text = free_after_use(maker);
    if (maker == "CuPy") text += " Then return it to the driver: cupy.get_default_memory_pool().free_all_blocks().";
    return text;
  }

  static std::string move_idle(std::string_view maker) {
    if (maker == "PyTorch")
      return "Move it with .to('cpu', non_blocking=True) into pinned memory after its use and back before the next "
             "one, or let FSDP's or DeepSpeed's CPU offload do that.";
    if (maker == "CuPy") return "Copy it to pinned memory with .get(out=...), and back with .set() when it is needed.";
    if (maker == "JAX") return "Put it into host memory: jax.device_put with memory_kind=\"pinned_host\".";
    return "Copy it to pinned host memory (cudaMemcpyAsync) and free it; copy it back when it is needed.";
  }

  void verdict() {
    const out_of_memory& memory = all_.metrics;
    if (memory.device_bytes > 0 && memory.asked > memory.device_bytes) {
      all_.verdict = fmt::format("The request alone exceeds the GPU's memory ({}): check the size.",
                                 format_bytes(memory.device_bytes));
    } else if (all_.changes.empty()) {
      all_.verdict = fmt::format("No change that was tried would have let the request fit, except {} more memory.",
                                 format_bytes(memory.missing));
      if (!memory.uses_known) all_.verdict += " Unused blocks are unknown, because kernel arguments were not recorded.";
    } else if (memory.only_together) {
      all_.verdict = "The request would have fit with these changes together, but not with one alone:";
    } else {
      all_.verdict = all_.changes.size() == 1 ? "The request would have fit with this change:"
                                              : "The request would have fit with any one of these changes:";
    }
  }

  code_places places_;
  const trace::tables& tables_;
  std::string maker_;
  out_of_memory_report all_;
};

}  // namespace

out_of_memory_report name_out_of_memory(out_of_memory metrics, const trace::tables& tables, const naming& names) {
  return failure_words(std::move(metrics), tables, names).make();
}

}  // namespace sluice::metrics
