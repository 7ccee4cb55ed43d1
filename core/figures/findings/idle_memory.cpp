#include <fmt/format.h>

#include <algorithm>

#include "core/base/format.hpp"
#include "core/figures/advice.hpp"
#include "core/figures/findings/finder.hpp"
#include "core/figures/findings/thresholds.hpp"

/// Memory that is held at the peak while nothing needs it.
namespace sluice::analysis {
namespace {

/// PyTorch keeps workspaces of these sizes for cuBLAS, which most kernels never use: 8 MiB + 128 KiB, and 32 MiB on Hopper
/// (c10/cuda and aten/src/ATen/cuda/CublasHandlePool.cpp).
bool is_cublas_workspace(const idle_group& group) {
  return group.layer == trace::layer::framework && group.blocks_at_peak > 0 &&
         (group.largest_bytes == 8'519'680 || group.largest_bytes == 33'554'432) &&
         group.bytes_at_peak == group.blocks_at_peak * group.largest_bytes;
}

/// A caching allocator without recorded blocks keeps what the program has freed. Then a segment that is no longer used is
/// only held by the program if a later one could have taken its place.
bool is_kept_by_allocator(const idle_group& group, const code_place& place) {
  return group.layer == trace::layer::driver && place.maker == "CuPy" && group.reason == idle_reason::held_late &&
         group.replaced * 2 < group.bytes_at_peak;
}

struct sums {
  std::uint64_t blocks = 0;
  std::uint64_t bytes = 0;
  std::uint64_t saved = 0;
  std::uint64_t reassigned = 0;
  std::uint64_t born = 0;  ///< By the stacks of these blocks, in all.
  const idle_group* most = nullptr;
};

sums sums_of(const std::vector<const idle_group*>& groups) {
  sums all;
  for (const idle_group* each : groups) {
    all.blocks += each->blocks_at_peak;
    all.bytes += each->bytes_at_peak;
    all.saved += each->saved;
    all.reassigned += each->reassigned;
    all.born += each->born + each->born_later;
    if (all.most == nullptr || each->saved > all.most->saved) all.most = each;
  }
  all.saved = std::min(all.saved, all.bytes);
  return all;
}

class idle_finder {
 public:
  idle_finder(finder& in, const idle_memory& of) : in_(in), of_(of) {}

  void all() {
    for (std::size_t i = 0; i < idle_reason_count; ++i) {
      const auto reason = static_cast<idle_reason>(i);
      std::vector<const idle_group*> groups;
      for (const idle_group& each : of_.groups)
        if (each.reason == reason && !is_others(each)) groups.push_back(&each);
      const auto lines = by_line(groups, in_.places, [](const idle_group& each) { return each.saved; });
      for (std::size_t line = 0; line < lines.size() && line < most_lines; ++line)
        tell(reason, lines[line].first, sums_of(lines[line].second));
    }
  }

 private:
  static constexpr std::size_t most_lines = 3;  ///< Per reason.

  /// True if it is a library or an allocator that keeps the memory, not the program.
  [[nodiscard]] bool is_others(const idle_group& group) const {
    const code_place& place = in_.places.of(group.stack);
    return (group.reason == idle_reason::never_used && is_cublas_workspace(group)) || !place.owned;
  }

  /// Tells of segments that an allocator without recorded blocks keeps for later. Returns true if `of` is such memory.
  bool tell_cached(const code_place& place, const sums& of) {
    if (!is_kept_by_allocator(*of.most, place)) return false;
    if (static_cast<double>(of.bytes) < much_cached * static_cast<double>(of_.peak_bytes)) return true;
    finding* f =
        add(finding_kind::cached_unused, place, of,
            fmt::format("{} of {} that {}'s pool holds at the peak{} are never used again: {}.", format_bytes(of.bytes),
                        format_bytes(of_.peak_bytes), place.maker, in_.on(of_.device), who(place, of)),
            "Lower the peak that made the pool grow, or give the rest back when it is over (CuPy: "
            "free_all_blocks()).");
    if (f != nullptr) std::swap(f->saves.peak_bytes, f->saves.reserved_bytes);
    return true;
  }

  /// "12 blocks, taken for activations, from train.py:12"
  [[nodiscard]] std::string who(const code_place& place, const sums& of) const {
    std::string text = format_some(of.blocks, "block");
    if (of.most->what != category::none) text += fmt::format(" ({})", category_name(of.most->what));
    return text + from_place(place);
  }

  finding* add(finding_kind kind, const code_place& place, const sums& of, std::string text, std::string advice) {
    const double share =
        static_cast<double>(of.saved) / static_cast<double>(std::max<std::uint64_t>(of_.peak_bytes, 1));
    if (static_cast<double>(of.saved) < mebi || share < warned_memory_share) return nullptr;
    finding& f = in_.add(kind, std::move(text), std::move(advice));
    f.saves = {.peak_bytes = of.saved, .basis = saving_basis::swept, .share = share};
    f.range = {of.most->idle.begin, std::max(of.most->idle.end, of_.peak_time + 1)};
    f.block = of.most->largest;
    f.where = place;
    return &f;
  }

  void tell(idle_reason reason, const code_place& place, const sums& of) {
    const std::string maker = maker_of(place, of_.layer);
    const std::string at_peak =
        fmt::format("{} of {} at the peak{}", format_bytes(of.bytes), format_bytes(of_.peak_bytes), in_.on(of_.device));
    switch (reason) {
      case idle_reason::never_used:
        add(finding_kind::never_used, place, of,
            fmt::format("{} {} never used: no kernel or copy has touched {}.", at_peak, of.blocks == 1 ? "is" : "are",
                        who(place, of)),
            "Do not allocate it, or allocate it where it is first needed.");
        return;
      case idle_reason::allocated_early:
        add(finding_kind::allocated_early, place, of,
            fmt::format("{} wait for their first use: {}, {} before it.", at_peak, who(place, of),
                        format_time(of.most->idle.length())),
            "Allocate it right before its first use.");
        return;
      case idle_reason::held_late:
        if (tell_cached(place, of)) return;
        if (keeps_growing(*of.most)) {
          if (finding* f =
                  add(finding_kind::memory_grows, place, of,
                      fmt::format("Memory keeps growing: {} {} never used again, and more came all the time: {}.",
                                  at_peak, of.blocks == 1 ? "is" : "are", who(place, of)),
                      std::string(stop_growth(maker))))
            f->severity = trace::severity::warning;
          return;
        }
        if (finding* f = add(
                finding_kind::held_late, place, of,
                fmt::format("{} {} never used again: {}, held {} after the last use, while {} ran.", at_peak,
                            of.blocks == 1 ? "is" : "are", who(place, of), format_time(of.most->idle.length()),
                            of.most->works == 1 ? std::string("1 launch or copy")
                                                : fmt::format("{} launches and copies", format_count(of.most->works))),
                free_after_use(maker)))
          // What a loop makes anew in each turn is held a little longer than it is used, as is the old value of a variable
          // while the new one is made.
          f->only_note = f->saves.share < (of.blocks == 1 && of.reassigned > 0 ? warned_variable_share
                                           : of.born >= made_anew * of.blocks && of.most->what != category::gradient
                                               ? warned_loop_share
                                               : 0);
        return;
      case idle_reason::between_uses:
        if (finding* f = add(finding_kind::idle_block, place, of,
                             fmt::format("{} lie idle between two uses: {}, idle for {}.", at_peak, who(place, of),
                                         format_time(of.most->idle.length())),
                             "Move it to pinned host memory until it is needed again, or make it again then."))
          // Every training has some at its peak in each step, and needs them back soon.
          f->only_note = static_cast<double>(of.most->works) < idle_for_long * static_cast<double>(of_.works);
        return;
      case idle_reason::kept_gradient:
        add(finding_kind::gradients_kept, place, of,
            fmt::format("{} are cleared gradients that wait for the backward pass: {}.", at_peak, who(place, of)),
            "Free them before the forward pass: optimizer.zero_grad(set_to_none=True).");
        return;
      case idle_reason::accumulating:
        // The activations of a forward pass accumulate, too, and are all needed.
        if (!keeps_growing(*of.most) || told_at(place) > 0 || (in_.trains() && of.most->what != category::none)) return;
        if (finding* f = add(finding_kind::memory_grows, place, of,
                             fmt::format("Memory keeps growing: {} {} added one after another and none was freed: {}.",
                                         at_peak, of.blocks == 1 ? "was" : "were", who(place, of)),
                             std::string(stop_growth(maker)))) {
          f->severity = trace::severity::warning;
          f->saves.basis = saving_basis::measured;
        }
        return;
      case idle_reason::reusable:
        // What is freed earlier or allocated later needs no other block's place.
        if (told_at(place) < static_cast<double>(of.saved))
          add(finding_kind::reusable_block, place, of,
              fmt::format("{} could take the place of blocks of the same size that are not used any more: {}.", at_peak,
                          who(place, of)),
              "Use one block for both, one after the other, or free the first before the second is allocated.");
        return;
    }
  }

  /// The most that a finding on this line saves already.
  [[nodiscard]] double told_at(const code_place& place) const {
    double most = 0;
    for (const finding& each : in_.found)
      if (each.saves.basis == saving_basis::swept && text_of(each.where) == text_of(place))
        most = std::max(most, static_cast<double>(each.saves.peak_bytes) * 1.01);
    return most;
  }

  /// True if the blocks were born one after another over much of the work.
  [[nodiscard]] bool keeps_growing(const idle_group& group) const {
    // What a loop makes anew is freed, too. The newest blocks may still be in use.
    const bool none_freed = group.born <= group.blocks_at_peak + group.blocks_at_peak / 4 + 2;
    return none_freed && group.blocks_at_peak >= growth_builder::least_blocks && group.spread >= 5 &&
           static_cast<double>(group.birth_kernels) >= grows_for * static_cast<double>(of_.kernels);
  }

  finder& in_;
  const idle_memory& of_;
};

}  // namespace

std::string_view stop_growth(const std::string& maker) {
  if (maker == "PyTorch")
    return "Find what keeps these tensors: a loss summed up with its graph (use loss.item() or .detach()), outputs in "
           "a list, a hook, a cache without a limit.";
  if (maker == "CuPy" || maker == "JAX" || maker == "Numba")
    return "Find what keeps these arrays: a list of results, a cache without a limit (functools.lru_cache, a dict).";
  return "Free each block when the step that made it is done.";
}

void find_idle_memory(finder& in) {
  for (const idle_memory& each : in.of.waste.idle) {
    in.device = each.device;
    idle_finder(in, each).all();
  }
}

}  // namespace sluice::analysis
