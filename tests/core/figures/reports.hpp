#pragma once

#include <optional>

#include "core/figures/report.hpp"
#include "tests/core/recordings/recording.hpp"

/// Reports of recordings made by hand, and what they find.
namespace sluice::testing {

/// Ends the recording, and reports on it or on a range of it.
inline analysis::report report_of(recording& made, std::optional<analysis::time_range> range = std::nullopt) {
  made.close();
  const indexed all(made.open());
  return analysis::make_report(all.index, *all.snapshot, range);
}

/// The first finding of a kind; null if there is none.
inline const analysis::finding* find(const analysis::report& in, analysis::finding_kind kind) {
  for (const analysis::finding& each : in.findings) {
    if (each.kind == kind) return &each;
  }
  return nullptr;
}

}  // namespace sluice::testing
