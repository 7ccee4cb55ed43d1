#pragma once

#include <optional>

#include "core/metrics/make_report.hpp"
#include "core/metrics/report/report.hpp"
#include "tests/core/recordings/recording.hpp"

/// Makes reports on synthetic recordings and looks up their findings.
namespace sluice::testing {

/// Closes the recording, and reports on all of it or on `range`.
inline metrics::report build_report(recording& recorded, std::optional<time_range> range = std::nullopt) {
  recorded.close();
  const indexed loaded(recorded.open());
  return metrics::make_report(loaded.index, *loaded.snapshot, range);
}

/// The first finding of a kind; null if there is none.
inline const metrics::finding* find(const metrics::report& in, metrics::finding_kind kind) {
  for (const metrics::finding& each : in.findings) {
    if (each.kind == kind) return &each;
  }
  return nullptr;
}

}  // namespace sluice::testing
