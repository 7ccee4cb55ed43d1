#include "core/metrics/out_of_memory/out_of_memory_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <type_traits>

#include "core/base/format.hpp"
#include "core/base/saturating.hpp"
#include "core/metrics/advice.hpp"
#include "core/metrics/code_place.hpp"

namespace sluice::metrics {
namespace {

/// Stacks beyond this limit are not resolved, but summed up as others.
constexpr std::size_t max_named = 256;
constexpr std::size_t max_places = 3;  ///< The maximum number of places in the sentence about a change.

class failure_words {
 public:
  failure_words(out_of_memory metrics, const trace::tables& tables, const naming& names)
      : places_(tables, names), tables_(tables) {
    all_.metrics = std::move(metrics);
  }

  out_of_memory_report make() {
    out_of_memory& of = all_.metrics;
    all_.where = places_.of(of.stack);
    maker_ = maker_of(all_.where, of.layer);
    all_.categories = grouped(of.held, [](const held_share& each, const code_place&) { return each.what; });
    // Only framework blocks have categories.
    if (all_.categories.lines.size() == 1 && all_.categories.lines.front().what == index::category::none)
      all_.categories = {};
    const auto line = [](const code_place& place) { return text_of(place); };
    const auto module = [](const code_place& place) { return place.module; };
    all_.lines = listed(of.held, line);
    all_.modules = listed(of.held, module);
    std::erase_if(all_.modules.lines, [](const oom_line& each) { return each.place.module.empty(); });
    all_.unused = listed(of.unused, line);
    all_.grown = listed(of.grown, line);
    all_.pins = listed(of.pins, line);
    facts();
    for (const checked_change& each : of.changes) all_.changes.push_back(change(each));
    verdict();
    of.held = of.unused = of.grown = of.pins = {};
    of.changes = {};
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
    oom_list made;
    std::map<std::invoke_result_t<Key, const held_share&, const code_place&>, oom_line> groups;
    std::size_t named = 0;
    for (const held_share& each : shares) {
      made.blocks += each.blocks;
      saturating_add(made.bytes, each.bytes);
      if (named++ >= max_named) {
        made.other_blocks += each.blocks;
        saturating_add(made.other_bytes, each.bytes);
        continue;
      }
      const code_place& place = places_.of(each.stack);
      oom_line& to = groups[key(each, place)];
      if (to.blocks == 0) {
        to.place = place;
        to.what = each.what;
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
    for (auto& [name, line] : groups) made.lines.push_back(std::move(line));
    std::stable_sort(made.lines.begin(), made.lines.end(), [](const oom_line& a, const oom_line& b) {
      return std::pair(a.pinned_bytes, a.bytes) > std::pair(b.pinned_bytes, b.bytes);
    });
    for (std::size_t i = oom_list::limit; i < made.lines.size(); ++i) {
      made.other_blocks += made.lines[i].blocks;
      saturating_add(made.other_bytes, made.lines[i].bytes);
    }
    if (made.lines.size() > oom_list::limit) made.lines.resize(oom_list::limit);
    return made;
  }

  // --- facts ---------------------------------------------------------------------------------------------------------

  void fact(std::string_view label, std::string text) { all_.facts.emplace_back(label, std::move(text)); }

  void facts() {
    const out_of_memory& of = all_.metrics;
    const std::string_view call = tables_.text(of.call);
    const std::string where = text_of(all_.where);
    std::string asked = format_bytes(of.asked);
    if (!call.empty()) asked += fmt::format(" from {}", call);
    if (!where.empty()) asked += fmt::format(", by {}", where);
    if (all_.where.known && all_.where.caller != all_.where.line && !symbols::place_of(all_.where.caller).empty())
      asked += fmt::format(", called at {}", symbols::place_of(all_.where.caller));
    if (of.needed > of.asked) asked += fmt::format("; takes a segment of {}", format_bytes(of.needed));
    fact("requested", std::move(asked));
    switch (of.limit) {
      case memory_limit::device:
        fact("limit", of.device_bytes > 0 ? format_bytes(of.device_bytes) + ", the GPU's memory" : "the GPU's memory");
        break;
      case memory_limit::framework:
        fact("limit", fmt::format("{} to {}, PyTorch's own (set_per_process_memory_fraction)",
                                  format_bytes(of.limit_from), format_bytes(of.limit_to)));
        break;
      case memory_limit::unknown:
        fact("limit", "unknown");
        break;
    }
    std::uint64_t blocks = all_.lines.blocks;
    all_.in_use = fmt::format("{} in {}{}", format_bytes(of.used), format_some(blocks, "block"),
                              of.segments > 0 ? fmt::format(", in {} of segments", format_bytes(of.reserved)) : "");
    fact("in use", all_.in_use);
    std::string free = of.device_free_known ? format_bytes(of.device_free) + " on the GPU" : "unknown on the GPU";
    if (of.reserved > of.used) {
      free += fmt::format("; {} in {}", format_bytes(of.reserved - of.used),
                          of.layer == trace::layer::framework ? "the cache" : "the pool");
      if (of.largest_hole > 0) free += fmt::format(", largest hole {}", format_bytes(of.largest_hole));
    }
    all_.free = std::move(free);
    fact("free", all_.free);
    if (of.others > 0) fact("others", format_bytes(of.others) + " in CUDA contexts, libraries and other processes");
    fact("short by", format_bytes(of.missing));
    if (of.seen_from != trace::unknown_time)
      fact("analyzed",
           fmt::format("only from {} on, {} before the failure: in a large recording, one section is analyzed. Blocks "
                       "used earlier count as used then, and changes that need more cannot be replayed.",
                       format_moment(of.seen_from), format_time(of.time - of.seen_from)));
  }

  // --- changes -------------------------------------------------------------------------------------------------------

  /// Returns text such as ", from train.py:12 (history), and others".
  std::string from_lines(const oom_list& of) const {
    std::vector<std::string> known;
    std::size_t more = 0;
    for (const oom_line& each : of.lines) {
      const std::string text = text_of(each.place);
      if (text.empty()) continue;
      if (known.size() < max_places)
        known.push_back(text);
      else
        ++more;
    }
    std::string made;
    for (std::size_t i = 0; i < known.size(); ++i) made += (i == 0 ? ", from " : ", ") + known[i];
    if (more > 0 || of.other_blocks > 0) made += " and others";
    return made;
  }

  oom_change change(const checked_change& of) {
    const auto line = [](const code_place& place) { return text_of(place); };
    const auto module = [](const code_place& place) { return place.module; };
    const oom_list by = listed(of.blocks, line);
    oom_change made;
    made.what = of.what;
    made.checked_by = of.checked_by;
    made.freed = of.freed;
    made.reserved = of.reserved;
    std::string maker = maker_;
    if (!by.lines.empty()) {
      made.where = by.lines.front().place;
      made.block = by.lines.front().largest;
      if (!made.where.maker.empty()) maker = made.where.maker;
    }
    const std::string some = fmt::format("{} ({})", format_some(by.blocks, "block"), format_bytes(of.freed));
    switch (of.what) {
      case remedy::free_unused:
        made.text = fmt::format("Free {} that are no longer used{}.", some, from_lines(by));
        made.advice = free_unused(maker);
        break;
      case remedy::expandable_segments:
        made.text = fmt::format("Set expandable_segments:True: PyTorch then reserves at most {} with this request.",
                                format_bytes(of.reserved));
        made.advice = "Set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True before the program starts.";
        break;
      case remedy::move_idle_state: {
        const index::category what = by.lines.empty() ? index::category::none : by.lines.front().what;
        made.text = fmt::format("Keep {}{} on the host while nothing uses {}{}.", some,
                                what == index::category::none ? "" : fmt::format(" of {}", index::category_name(what)),
                                by.blocks == 1 ? "it" : "them", from_lines(by));
        made.advice = move_idle(maker);
        break;
      }
      case remedy::checkpoint: {
        std::string names;
        for (const oom_line& each : listed(of.blocks, module).lines)
          names += (names.empty() ? "" : ", ") + each.place.module;
        made.text = fmt::format("Checkpoint {}: {} less for activations, if each call keeps only its input.", names,
                                format_bytes(of.freed));
        made.advice = maker == "JAX" ? "Wrap the function in jax.checkpoint; it is recomputed in the backward pass."
                                     : "Call the module through torch.utils.checkpoint.checkpoint(module, x, "
                                       "use_reentrant=False); it is recomputed in the backward pass.";
        break;
      }
      case remedy::smaller_batch:
        made.text = fmt::format(
            "Halve the batch: {} less, if activations, inputs and workspaces shrink with it; at most {} reserved then.",
            format_bytes(of.freed), format_bytes(of.reserved));
        made.advice = "Use half the batch, and accumulate the gradients of two batches before optimizer.step().";
        break;
    }
    return made;
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
    const out_of_memory& of = all_.metrics;
    if (of.device_bytes > 0 && of.asked > of.device_bytes) {
      all_.verdict = fmt::format("The request alone exceeds the GPU's memory ({}): check the size.",
                                 format_bytes(of.device_bytes));
    } else if (all_.changes.empty()) {
      all_.verdict = fmt::format("No change that was tried would have let it fit, except {} more memory.",
                                 format_bytes(of.missing));
      if (!of.uses_known) all_.verdict += " Unused blocks are unknown: kernel arguments were not recorded.";
    } else if (of.only_together) {
      all_.verdict = "It would have fit with these changes together, but not with one alone:";
    } else {
      all_.verdict = all_.changes.size() == 1 ? "It would have fit with this change:"
                                              : "It would have fit with any one of these changes:";
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
