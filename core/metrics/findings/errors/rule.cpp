#include <fmt/format.h>

#include <algorithm>

#include "core/base/format.hpp"
#include "core/base/saturating.hpp"
#include "core/metrics/findings/errors/descriptor.hpp"
#include "core/metrics/findings/reserved/replay_choice.hpp"
#include "core/metrics/findings/shared/finder.hpp"
#include "core/trace/model/driver_results.hpp"
#include "core/trace/model/message_texts.hpp"

/// Findings about failed allocations, allocations that succeeded on a retry, and lost events.
namespace sluice::metrics {
namespace {

using trace::severity;

/// Describes the memory in use and the free memory at the first failure, as part of a sentence.
std::string get_state(const out_of_memory_report& report) {
  if (report.metrics.used == 0) return {};
  return fmt::format(" In use: {}. Free: {}.", report.in_use, report.free);
}

/// Describes the checked changes, each with instructions.
std::string format_advice(const out_of_memory_report& report) {
  std::string text = report.verdict;
  for (std::size_t i = 0; i < report.changes.size(); ++i)
    text += report.changes.size() == 1
                ? fmt::format(" {} {}", report.changes[i].text, report.changes[i].advice)
                : fmt::format(" ({}) {} {}", i + 1, report.changes[i].text, report.changes[i].advice);
  return text;
}

/// Returns what the first change saves. These are the bytes of blocks that no longer exist, or the memory that the
/// allocator no longer holds.
saving get_saving(const out_of_memory_report& report) {
  if (report.changes.empty()) return {};
  const oom_change& first = report.changes.front();
  saving output;
  output.basis = first.checked_by == remedy_check::layout ? saving_basis::swept : saving_basis::modelled;
  const std::uint64_t most = std::max(report.metrics.reserved, report.metrics.used);
  if (first.kind == remedy::expandable_segments) {
    output.reserved_bytes =
        most + report.metrics.needed > first.reserved ? most + report.metrics.needed - first.reserved : 0;
  } else {
    output.peak_bytes = first.freed;
  }
  if (most > 0)
    output.share =
        std::min(1.0, static_cast<double>(output.peak_bytes + output.reserved_bytes) / static_cast<double>(most));
  return output;
}

/// Returns the setting under which a replay has the fewest retries; null if none has fewer than the recording.
const policy_outcome* find_fewest_retries(const reserved_replay& replay) {
  const policy_outcome* best = nullptr;
  for (const policy_outcome& each : replay.policies)
    if (each.failures == 0 && (best == nullptr || each.retries < best->retries)) best = &each;
  return best == nullptr || best->retries >= replay.retries ? nullptr : best;
}

/// Returns advice that avoids retries on a device.
std::string way_out(const reserved_replay* replay) {
  constexpr std::string_view less = "Use less memory at the peak";
  if (replay == nullptr || replay->retries == 0)
    return fmt::format("{}, or reduce fragmentation (PyTorch: expandable_segments:True).", less);
  const policy_outcome* best = find_fewest_retries(*replay);
  if (best == nullptr)
    return fmt::format("{}: no other setting of PyTorch's allocator has fewer retries in a replay of these requests.",
                       less);
  return fmt::format("{}, or set PYTORCH_CUDA_ALLOC_CONF={}: a replay of these requests has {} instead of {}.", less,
                     best->policy, best->retries == 1 ? "1 retry" : fmt::format("{} retries", best->retries),
                     replay->retries);
}

/// Returns the case of the fixes for failed allocations (`code_fix::when`).
std::string_view case_of(remedy change) {
  if (change == remedy::expandable_segments) return "expandable_segments:True";
  return change == remedy::checkpoint ? "recompute activations" : "";
}

}  // namespace

void find_failures(finder& in) {
  if (in.whole.whole.failed_allocations == 0) return;
  const failed_allocation& first = in.whole.failures.front();
  // After a fault, every call fails, so failed allocations get no separate finding.
  if (trace::is_gpu_fault(first.error) && !in.whole.faults.empty()) return;
  const std::string_view call = in.tables.text(first.call);
  std::string text = fmt::format(
      "{} failed; the first requested {} at {}{}{}.", format_some(in.whole.whole.failed_allocations, "allocation"),
      format_bytes(first.bytes), format_moment(first.time), call.empty() ? "" : " with ", call);
  const out_of_memory_report* known = in.whole.out_of_memory.empty() ? nullptr : &in.whole.out_of_memory.front();
  if (known != nullptr) text += get_state(*known);
  finding& f =
      in.add(finding_kind::failed_allocations, std::move(text),
             known != nullptr ? format_advice(*known)
                              : "Look up the error code, because the driver did not report that memory ran out.");
  f.severity = severity::error;
  f.event = first.event;
  f.range = {saturating_difference(first.time, time_ns{1}), saturating_sum(first.time, time_ns{1})};
  if (known == nullptr) return;
  f.saves = get_saving(*known);
  f.detail = "short by " + known->short_by;
  f.where = known->where;
  if (!known->changes.empty()) in.set_fix(f, failed_allocations_fixes, case_of(known->changes.front().kind));
  if (known->metrics.event == first.event) return;
  f.event = known->metrics.event;
  f.range = {saturating_difference(known->metrics.time, time_ns{1}), saturating_sum(known->metrics.time, time_ns{1})};
}

void find_retries(finder& in) {
  const allocation_retries& retries = in.whole.retries;
  if (retries.count == 0) return;
  const allocation_retry& first = retries.first.front();
  const std::string_view call = in.tables.text(first.call);
  const reserved_replay* replay = replay_on(in, first.device);
  finding& f = in.add(
      finding_kind::retried_allocations,
      fmt::format("{} failed and succeeded on a retry, after memory was freed: {} lost. The first requested {} at "
                  "{}{}{}.",
                  format_some(retries.count, "allocation"), format_time(retries.total), format_bytes(first.bytes),
                  format_moment(first.time), call.empty() ? "" : " with ", call),
      "The GPU ran out of memory temporarily. " + way_out(replay));
  f.saves = in.time(static_cast<double>(retries.total), saving_basis::measured);
  f.event = first.event;
  f.range = {first.time, saturating_sum(first.until, time_ns{1})};
  if (const policy_outcome* best = replay == nullptr ? nullptr : find_fewest_retries(*replay); best != nullptr)
    in.set_fix(f, retried_allocations_fixes, best->policy, trace::layer::framework);
}

void find_losses(finder& in) {
  // These losses are reported by importers in a message.
  for (const std::string& warning : in.whole.warnings) {
    if (!warning.starts_with(trace::history_was_full)) continue;
    in.add(finding_kind::lost_events, warning + ".",
           "Record a shorter time, or allow more entries: torch.cuda.memory._record_memory_history(max_entries=...).")
        .severity = severity::warning;
  }
  if (in.whole.whole.lost_events == 0) return;
  in.add(finding_kind::lost_events,
         fmt::format("The recorder lost {}{}.", format_some(in.whole.whole.lost_events, "event"),
                     in.whole.whole.lost_memory_events > 0
                         ? fmt::format(", including {} allocations and frees, so memory metrics are inexact",
                                       format_count(in.whole.whole.lost_memory_events))
                         : std::string()),
         "Record fewer kinds of events, or give the recorder larger rings.")
      .severity = severity::warning;
}

}  // namespace sluice::metrics
