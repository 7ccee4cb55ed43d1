#pragma once

#include <optional>

#include "core/metrics/report.hpp"
#include "tests/core/recordings/recording.hpp"

/// Makes reports on synthetic recordings and looks up their findings.
namespace sluice::testing {

/// Closes the recording, and reports on all of it or on `range`.
inline metrics::report report_of(recording& made, std::optional<time_range> range = std::nullopt) {
  made.close();
  const indexed all(made.open());
  return metrics::make_report(all.index, *all.snapshot, range);
}

/// The first finding of a kind; null if there is none.
inline const metrics::finding* find(const metrics::report& in, metrics::finding_kind kind) {
  for (const metrics::finding& each : in.findings) {
    if (each.kind == kind) return &each;
  }
  return nullptr;
}

}  // namespace sluice::testing
