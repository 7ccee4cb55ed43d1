#include <fmt/format.h>

#include <algorithm>

#include "core/base/format.hpp"
#include "core/base/saturating.hpp"
#include "core/figures/finding_rules.hpp"
#include "core/figures/findings/finder.hpp"
#include "core/trace/model/driver_results.hpp"
#include "core/trace/model/message_texts.hpp"

/// Failed allocations, those that succeeded when repeated, and events that were lost.
namespace sluice::analysis {
namespace {

using trace::severity;

std::string failure_advice(const failed_allocation& of, const trace::tables& tables) {
  const trace::device_row* const device = tables.devices.find(of.device);
  if (device != nullptr && device->memory_bytes > 0 && of.bytes > device->memory_bytes)
    return fmt::format("That is more than the GPU has ({}): check the size.", format_bytes(device->memory_bytes));
  return "Look at what held the memory at that moment.";
}

/// What was in use and what was held when the allocation failed, as part of a sentence.
std::string state_of(const failed_allocation& failed, const report& of) {
  std::string text;
  for (const memory_peak& peak : of.peaks) {
    if (peak.device != failed.device || peak.layer != failed.layer || peak.kind != failed.kind) continue;
    text = fmt::format(" At most {} of this memory was in use before.", format_bytes(peak.bytes));
    if (!peak.lines.empty() && peak.lines.lines.front().figures.bytes * 10 >= peak.bytes)
      text += fmt::format(" {} of it from {}.", format_bytes(peak.lines.lines.front().figures.bytes),
                          symbols::place_of(peak.lines.lines.front().line));
  }
  return text;
}

}  // namespace

void find_failures(finder& in) {
  if (in.of.whole.failed_allocations == 0) return;
  const failed_allocation& first = in.of.failures.front();
  // After a fault every call fails, so this is not a finding of its own.
  if (trace::is_gpu_fault(first.error) && !in.of.faults.empty()) return;
  const std::string_view call = in.tables.text(first.call);
  finding& f = in.add(finding_kind::failed_allocations,
                      fmt::format("{} failed; the first asked for {} at {}{}{}.",
                                  format_some(in.of.whole.failed_allocations, "allocation"), format_bytes(first.bytes),
                                  format_moment(first.time), call.empty() ? "" : " with ", call) +
                          state_of(first, in.of),
                      failure_advice(first, in.tables));
  f.severity = severity::error;
  f.event = first.event;
  f.range = {saturating_difference(first.time, time_ns{1}), saturating_sum(first.time, time_ns{1})};
}

void find_room(finder& in) {
  constexpr std::size_t most = 3;
  const auto failed = std::find_if(in.found.begin(), in.found.end(),
                                   [](const finding& f) { return f.kind == finding_kind::failed_allocations; });
  if (failed == in.found.end()) return;
  const std::uint64_t wanted = in.of.failures.front().bytes;
  std::vector<const finding*> ways;
  for (const finding& each : in.found)
    if (each.saves.peak_bytes + each.saves.reserved_bytes > 0) ways.push_back(&each);
  std::stable_sort(ways.begin(), ways.end(), [](const finding* a, const finding* b) {
    return a->saves.peak_bytes + a->saves.reserved_bytes > b->saves.peak_bytes + b->saves.reserved_bytes;
  });
  std::string text;
  for (std::size_t i = 0; i < ways.size() && i < most; ++i) {
    const std::uint64_t saved = ways[i]->saves.peak_bytes + ways[i]->saves.reserved_bytes;
    const std::string where = text_of(ways[i]->where);
    text += fmt::format("{} {} ({}{}{})", i == 0 ? "" : ";", format_bytes(saved), word_of(ways[i]->kind),
                        where.empty() ? "" : ", " + where, saved >= wanted ? ", enough for it" : "");
  }
  if (!text.empty()) failed->advice += fmt::format(" What would have made room, by the findings below:{}.", text);
}

void find_retries(finder& in) {
  const allocation_retries& all = in.of.retries;
  if (all.count == 0) return;
  const allocation_retry& first = all.first.front();
  const std::string_view call = in.tables.text(first.call);
  finding& f = in.add(
      finding_kind::retried_allocations,
      fmt::format("{} failed and succeeded when repeated, after memory was freed: {} lost. The first asked for {} at "
                  "{}{}{}.",
                  format_some(all.count, "allocation"), format_time(all.total), format_bytes(first.bytes),
                  format_moment(first.time), call.empty() ? "" : " with ", call),
      "The GPU was full for a moment. Use less memory at the peak, or let the allocator fragment less (PyTorch: "
      "expandable_segments:True).");
  f.saves = in.time(static_cast<double>(all.total), saving_basis::measured);
  f.event = first.event;
  f.range = {first.time, saturating_sum(first.until, time_ns{1})};
}

void find_losses(finder& in) {
  // What importers say of it in a message.
  for (const std::string& warning : in.of.warnings) {
    if (!warning.starts_with(trace::history_was_full)) continue;
    in.add(finding_kind::lost_events, warning + ".",
           "Record a shorter time, or allow more entries: torch.cuda.memory._record_memory_history(max_entries=...).")
        .severity = severity::warning;
  }
  if (in.of.whole.lost_events == 0) return;
  in.add(finding_kind::lost_events,
         fmt::format("The recorder lost {}{}.", format_some(in.of.whole.lost_events, "event"),
                     in.of.whole.lost_memory_events > 0
                         ? fmt::format(", {} of them allocations and frees: memory figures are not exact",
                                       format_count(in.of.whole.lost_memory_events))
                         : std::string()),
         "Record less at once, or give the recorder larger rings.")
      .severity = severity::warning;
}

}  // namespace sluice::analysis
