#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/base/format.hpp"
#include "core/base/saturating.hpp"
#include "core/index/labels.hpp"
#include "core/metrics/findings/faults/descriptor.hpp"
#include "core/metrics/findings/shared/finder.hpp"
#include "core/trace/model/driver_results.hpp"

namespace sluice::metrics {
namespace {

constexpr std::size_t launches_named = 5;

/// Returns the time before which device work is complete, so that earlier launches cannot have caused the fault.
time_ns done_until(const index::gpu_fault& fault, const report& subject) {
  for (const process_metric& process : subject.processes) {
    // If kernel times were not recorded, the watermark does not cover kernels.
    if (process.process == fault.process && process.mode != trace::recording_mode::memory)
      return process.complete_until;
  }
  return trace::unknown_time;
}

std::string launches_in_words(const index::gpu_fault& fault, time_ns done, const trace::tables& tables) {
  std::vector<index::fault_launch> suspects;
  for (const index::fault_launch& launch : fault.launches) {
    if (done == trace::unknown_time || launch.time >= done) suspects.push_back(launch);
  }
  const bool known = done != trace::unknown_time && !suspects.empty();
  if (suspects.empty()) suspects = fault.launches;
  if (suspects.empty()) return " No earlier kernel launch is known.";
  std::string text = known ? " Kernels enqueued before it on this context and possibly unfinished, last first:"
                           : " The last kernels enqueued before it on this context, last first:";
  for (std::size_t i = 0; i < suspects.size() && i < launches_named; ++i) {
    const std::string_view name = tables.text(suspects[i].kernel);
    text += fmt::format("{} {} (on {}, {} before)", i == 0 ? "" : ",",
                        name.empty() ? std::string("an unnamed kernel") : readable_name(name),
                        index::stream_label(suspects[i].stream, tables),
                        format_time(std::max<time_ns>(fault.time - suspects[i].time, 0)));
  }
  if (suspects.size() > launches_named) text += fmt::format(", and {} more", suspects.size() - launches_named);
  return text + ".";
}

}  // namespace

void find_faults(finder& in) {
  const trace::tables& tables = in.tables;
  for (const index::gpu_fault& fault : in.whole.faults) {
    const char* error = trace::name_of_result(fault.error);
    const std::string_view call = tables.text(fault.call);
    std::string text = fmt::format(
        "The GPU faulted: {} ({}), first seen at {}{}{}.", error == nullptr ? "an error" : error, fault.error,
        format_moment(fault.time), call.empty() ? std::string() : fmt::format(" by {}", call),
        fault.stream == trace::stream_id::none ? std::string()
                                               : fmt::format(" on {}", index::stream_label(fault.stream, tables)));
    text += launches_in_words(fault, done_until(fault, in.whole), tables);
    if (fault.calls_after > 1) text += fmt::format(" In total {} failed.", format_some(fault.calls_after, "call"));
    finding& f = in.add(finding_kind::gpu_fault, std::move(text),
                        "Run the program with compute-sanitizer, which reports the access and its line.");
    f.severity = trace::severity::error;
    f.range = {saturating_difference(fault.time, time_ns{1}), saturating_sum(fault.time, time_ns{1})};
    f.event = fault.event;
  }
}

}  // namespace sluice::metrics
