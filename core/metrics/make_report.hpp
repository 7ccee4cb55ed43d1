#pragma once

#include <optional>

#include "core/metrics/base/naming.hpp"
#include "core/metrics/report/report.hpp"
#include "core/trace/file/reader.hpp"

/// Makes the report on a recording.
namespace sluice::index {
class event_store;
}

namespace sluice::metrics {

/// Makes the report on the whole recording or on `range`. The report has the peaks, failures and findings of the range,
/// and the blocks allocated in the range that were never freed. `store` must have read all of `trace`. O(events in the
/// range + blocks).
[[nodiscard]] report make_report(const index::event_store& store, const trace::snapshot& trace,
                                 std::optional<time_range> range, const naming& names);

/// Computes the metrics of a report, which is the first of two steps of making the report. `store` must have read all
/// of `trace`. O(events in the range + blocks).
[[nodiscard]] report_metrics compute_metrics(const index::event_store& store, const trace::snapshot& trace,
                                             std::optional<time_range> range = std::nullopt);

/// Makes the report from the result of `compute_metrics` for the same `trace`, which is the second step. O(stacks +
/// lines of their stacks).
[[nodiscard]] report make_report(report_metrics metrics, const trace::snapshot& trace, const naming& names);

/// Makes the report in one step, like the first `make_report`. Resolves native functions during the call.
[[nodiscard]] report make_report(const index::event_store& store, const trace::snapshot& trace,
                                 std::optional<time_range> range = std::nullopt);

}  // namespace sluice::metrics
