#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/base/format.hpp"
#include "core/metrics/findings/growth/descriptor.hpp"
#include "core/metrics/findings/growth/growth.hpp"
#include "core/metrics/findings/growth/thresholds.hpp"
#include "core/metrics/findings/idle_memory/descriptor.hpp"
#include "core/metrics/findings/idle_memory/thresholds.hpp"
#include "core/metrics/findings/shared/advice.hpp"
#include "core/metrics/findings/shared/finder.hpp"
#include "core/metrics/findings/shared/thresholds.hpp"

/// Findings about memory that is held at the peak but not needed then.
namespace sluice::metrics {
namespace {

/// True for the workspaces that PyTorch keeps for cuBLAS and that most kernels never use. Their sizes are 8 MiB + 128
/// KiB, and 32 MiB on Hopper (c10/cuda and aten/src/ATen/cuda/CublasHandlePool.cpp).
bool is_cublas_workspace(const idle_group& group) {
  return group.layer == trace::layer::framework && group.blocks_at_peak > 0 &&
         (group.largest_bytes == 8'519'680 || group.largest_bytes == 33'554'432) &&
         group.bytes_at_peak == group.blocks_at_peak * group.largest_bytes;
}

/// True if the caching allocator, not the program, holds the group. A caching allocator without recorded blocks keeps
/// memory that the program has freed. An unused segment therefore counts as held by the program itself only if a later
/// segment could have taken its place.
bool is_kept_by_allocator(const idle_group& group, const code_place& place) {
  return group.layer == trace::layer::driver && place.maker == "CuPy" && group.reason == idle_reason::held_late &&
         group.replaced * 2 < group.bytes_at_peak;
}

struct sums {
  std::uint64_t blocks = 0;
  std::uint64_t bytes = 0;
  std::uint64_t saved = 0;
  std::uint64_t reassigned = 0;
  std::uint64_t born = 0;  ///< The number of all blocks that the stacks of these blocks allocated.
  const idle_group* most = nullptr;
  std::vector<saved_part> parts;
};

sums list_sums(const std::vector<const idle_group*>& groups) {
  sums whole;
  for (const idle_group* each : groups) {
    whole.blocks += each->blocks_at_peak;
    whole.bytes += each->bytes_at_peak;
    whole.saved += each->saved;
    whole.reassigned += each->reassigned;
    whole.born += each->born + each->born_later;
    whole.parts.push_back(
        {saved_part::type::blocks, each->device, static_cast<std::uint64_t>(each->layer), each->stack});
    if (whole.most == nullptr || each->saved > whole.most->saved) whole.most = each;
  }
  whole.saved = std::min(whole.saved, whole.bytes);
  return whole;
}

class idle_finder {
 public:
  idle_finder(finder& in, const idle_memory& memory) : in_(in), of_(memory) {}

  void all() {
    for (std::size_t i = 0; i < idle_reason_count; ++i) {
      const auto reason = static_cast<idle_reason>(i);
      std::vector<const idle_group*> groups;
      for (const idle_group& each : of_.groups)
        if (each.reason == reason && !is_others(each) && !is_undecided(each)) groups.push_back(&each);
      if (reason == idle_reason::between_uses) take_joined(groups);
      const auto lines = by_line(groups, in_.places, [](const idle_group& each) { return each.saved; });
      for (std::size_t line = 0; line < lines.size() && line < max_lines; ++line)
        tell(reason, lines[line].first, list_sums(lines[line].second));
    }
  }

 private:
  static constexpr std::size_t max_lines = 3;  ///< Per reason.

  /// True if a library or an allocator, not the program, keeps the memory.
  [[nodiscard]] bool is_others(const idle_group& group) const {
    const code_place& place = in_.places.of(group.stack);
    return (group.reason == idle_reason::never_used && is_cublas_workspace(group)) || !place.owned;
  }

  /// True if the blocks were not used until an allocation failed or the recording stopped, but not for long enough to
  /// know that nothing would have used them: a training that fails in its forward pass leaves activations that its
  /// backward pass would have used, and the state of its optimizer. A program that ended by itself used all it needed.
  [[nodiscard]] bool is_undecided(const idle_group& group) const {
    if (group.reason != idle_reason::held_late) return false;
    const report& run = in_.whole;
    const time_ns work_end = run.whole.active.end;
    const bool completed =
        !run.processes.empty() && std::all_of(run.processes.begin(), run.processes.end(),
                                              [](const process_metric& each) { return each.exit_status == 0; });
    const bool held_at_failure = std::any_of(run.failures.begin(), run.failures.end(),
                                             [&](const auto& each) { return group.idle.holds(each.time); });
    return std::min(group.idle.end, work_end) - group.idle.begin < in_.time_of_two_steps() &&
           (held_at_failure || (group.idle.end >= work_end && !completed));
  }

  /// Reports blocks of one category that several lines allocated, and that are idle between two uses, as one finding:
  /// one change, such as recomputing activations, covers all of them. Removes their groups from `groups`.
  void take_joined(std::vector<const idle_group*>& groups) {
    for (const idle_together& all : of_.together) {
      if (all.reason != idle_reason::between_uses || all.category == index::category::none) continue;
      const auto of_others = std::stable_partition(
          groups.begin(), groups.end(), [&](const idle_group* each) { return each->category == all.category; });
      const std::vector<const idle_group*> same(groups.begin(), of_others);
      const auto lines = by_line(same, in_.places, [](const idle_group& each) { return each.saved; });
      if (lines.size() < 2) continue;
      groups.erase(groups.begin(), of_others);
      sums subject = list_sums(same);
      subject.saved = std::min(all.saved, subject.bytes);
      std::vector<std::string> named;
      for (std::size_t line = 0; line < lines.size() && line < max_lines; ++line) {
        const sums one = list_sums(lines[line].second);
        named.push_back(fmt::format("{} in {}{}", format_bytes(one.bytes), format_some(one.blocks, "block"),
                                    from_place(lines[line].first)));
      }
      if (lines.size() > max_lines) named.push_back(fmt::format("{} more lines", lines.size() - max_lines));
      tell_between_uses(lines.front().first, subject,
                        fmt::format("{} lines: {}", lines.size(), fmt::join(named, ", ")));
    }
  }

  void tell_between_uses(const code_place& place, const sums& subject, const std::string& whose) {
    finding* f = add(
        finding_kind::idle_block, place, subject,
        fmt::format("{} of {} at the peak{} are idle between two uses: {}, idle for {}.", format_bytes(subject.bytes),
                    format_bytes(of_.peak_bytes), in_.on(of_.device), whose, format_time(subject.most->idle.length())),
        "Move it to pinned host memory until it is needed again, or recompute it then.");
    if (f == nullptr) return;
    in_.set_fix(*f, idle_block_fixes, case_of(subject.most->category), of_.layer);
    // Every training has some idle blocks at the peak of each step, and needs them again soon.
    f->only_note = static_cast<double>(subject.most->works) < idle_for_long * static_cast<double>(of_.works);
  }

  /// If `subject` is a segment that an allocator without recorded blocks keeps for later, reports it and returns true.
  bool tell_cached(const code_place& place, const sums& subject) {
    if (!is_kept_by_allocator(*subject.most, place)) return false;
    if (static_cast<double>(subject.bytes) < much_cached * static_cast<double>(of_.peak_bytes)) return true;
    finding* f = add(finding_kind::cached_unused, place, subject,
                     fmt::format("{} of {} that {}'s pool holds at the peak{} are never used again: {}.",
                                 format_bytes(subject.bytes), format_bytes(of_.peak_bytes), place.maker,
                                 in_.on(of_.device), who(place, subject)),
                     "Lower the peak that made the pool grow, or release unused memory after the peak (CuPy: "
                     "free_all_blocks()).");
    if (f != nullptr) std::swap(f->saves.peak_bytes, f->saves.reserved_bytes);
    return true;
  }

  /// Returns text such as "12 blocks (activations) from train.py:12".
  [[nodiscard]] std::string who(const code_place& place, const sums& subject) const {
    std::string text = format_some(subject.blocks, "block");
    if (subject.most->category != index::category::none)
      text += fmt::format(" ({})", index::category_name(subject.most->category));
    return text + from_place(place);
  }

  finding* add(finding_kind kind, const code_place& place, const sums& subject, std::string text, std::string advice) {
    const double share = in_.peak_share(subject.saved, of_.peak_bytes, of_.device);
    if (static_cast<double>(subject.saved) < mebi || share < warned_memory_share) return nullptr;
    finding& f = in_.add(kind, std::move(text), std::move(advice));
    f.saves = {.peak_bytes = subject.saved, .basis = saving_basis::swept, .share = share};
    f.range = {subject.most->idle.begin, std::max(subject.most->idle.end, of_.peak_time + 1)};
    f.block = subject.most->largest;
    f.where = place;
    // Without stacks, blocks of different lines look alike.
    if (place.known) f.parts = subject.parts;
    return &f;
  }

  /// Returns the case of the fixes for idle blocks (`code_fix::when`).
  [[nodiscard]] std::string_view case_of(index::category category) const {
    if (category == index::category::activation && in_.trains()) return "activations";
    return category == index::category::optimizer_state ? "optimizer state" : "";
  }

  void set_leak(finding& f, const sums& subject) const {
    in_.set_fix(f, memory_grows_fixes, of_.layer == trace::layer::driver ? "driver memory" : "", of_.layer);
    f.severity = trace::severity::warning;
    f.detail = fmt::format("{} in {}", format_bytes(subject.bytes), format_some(subject.blocks, "block"));
  }

  void tell(idle_reason reason, const code_place& place, const sums& subject) {
    const std::string maker = find_maker(place, of_.layer);
    const std::string at_peak = fmt::format("{} of {} at the peak{}", format_bytes(subject.bytes),
                                            format_bytes(of_.peak_bytes), in_.on(of_.device));
    switch (reason) {
      case idle_reason::never_used:
        add(finding_kind::never_used, place, subject,
            fmt::format("{} {} never used by any kernel or copy: {}.", at_peak, subject.blocks == 1 ? "is" : "are",
                        who(place, subject)),
            "Do not allocate it, or allocate it where it is first needed.");
        return;
      case idle_reason::allocated_early:
        add(finding_kind::allocated_early, place, subject,
            fmt::format("{} are allocated too early: {}, {} before the first use.", at_peak, who(place, subject),
                        format_time(subject.most->idle.length())),
            "Allocate it right before its first use.");
        return;
      case idle_reason::held_late:
        if (tell_cached(place, subject)) return;
        if (keeps_growing(*subject.most)) {
          if (finding* f =
                  add(finding_kind::memory_grows, place, subject,
                      fmt::format("Memory keeps growing: {} {} never used again, and more is always allocated: {}.",
                                  at_peak, subject.blocks == 1 ? "is" : "are", who(place, subject)),
                      std::string(stop_growth(maker))))
            set_leak(*f, subject);
          return;
        }
        if (finding* f = add(finding_kind::held_late, place, subject,
                             fmt::format("{} {} never used again: {}, held {} after the last use, while {} ran.",
                                         at_peak, subject.blocks == 1 ? "is" : "are", who(place, subject),
                                         format_time(subject.most->idle.length()),
                                         subject.most->works == 1 ? std::string("1 launch or copy")
                                                                  : fmt::format("{} launches and copies",
                                                                                format_count(subject.most->works))),
                             free_after_use(maker))) {
          in_.set_fix(*f, held_late_fixes, of_.layer == trace::layer::driver ? "driver memory" : "", of_.layer);
          // A block that a loop recreates in each iteration is usually held for a while after its last use, and so is
          // the old value of a variable while the new value is computed.
          f->only_note = f->saves.share < (subject.blocks == 1 && subject.reassigned > 0 ? warned_variable_share
                                           : subject.born >= made_anew * subject.blocks &&
                                                   subject.most->category != index::category::gradient
                                               ? warned_loop_share
                                               : 0);
        }
        return;
      case idle_reason::between_uses:
        tell_between_uses(place, subject, who(place, subject));
        return;
      case idle_reason::kept_gradient:
        if (finding* f = add(finding_kind::gradients_kept, place, subject,
                             fmt::format("{} are cleared gradients, kept until the backward pass: {}.", at_peak,
                                         who(place, subject)),
                             "Free them before the forward pass: optimizer.zero_grad(set_to_none=True)."))
          in_.set_fix(*f, gradients_kept_fixes, {}, of_.layer);
        return;
      case idle_reason::accumulating:
        // The activations of a forward pass also accumulate, but all of them are needed.
        if (!keeps_growing(*subject.most) || reported_at(place) > 0 ||
            (in_.trains() && subject.most->category != index::category::none))
          return;
        if (finding* f = add(finding_kind::memory_grows, place, subject,
                             fmt::format("Memory keeps growing: {} {} allocated one after another and never freed: {}.",
                                         at_peak, subject.blocks == 1 ? "was" : "were", who(place, subject)),
                             std::string(stop_growth(maker)))) {
          set_leak(*f, subject);
          f->saves.basis = saving_basis::measured;
        }
        return;
      case idle_reason::reusable:
        // If a block is freed earlier or allocated later, as another finding advises, it need not reuse another block.
        if (reported_at(place) < static_cast<double>(subject.saved))
          add(finding_kind::reusable_block, place, subject,
              fmt::format("{} could reuse blocks of the same size that are no longer used: {}.", at_peak,
                          who(place, subject)),
              "Use one block for both in turn, or free the first before allocating the second.");
        return;
    }
  }

  /// Returns the largest saving of a finding on this line so far.
  [[nodiscard]] double reported_at(const code_place& place) const {
    double most = 0;
    for (const finding& each : in_.found)
      if (each.saves.basis == saving_basis::swept && to_text(each.where) == to_text(place))
        most = std::max(most, static_cast<double>(each.saves.peak_bytes) * 1.01);
    return most;
  }

  /// Returns true if the blocks were allocated one after another during much of the work.
  [[nodiscard]] bool keeps_growing(const idle_group& group) const {
    // A loop also frees the blocks that it recreates, except that the newest may still be in use.
    const bool none_freed = group.born <= group.blocks_at_peak + group.blocks_at_peak / 4 + 2;
    return none_freed && group.blocks_at_peak >= growth_builder::min_blocks && group.spread >= 5 &&
           static_cast<double>(group.birth_kernels) >= grows_for * static_cast<double>(of_.kernels);
  }

  finder& in_;
  const idle_memory& of_;
};

}  // namespace

void find_idle_memory(finder& in) {
  for (const idle_memory& each : in.whole.waste.idle) {
    in.device = each.device;
    idle_finder(in, each).all();
  }
}

}  // namespace sluice::metrics
