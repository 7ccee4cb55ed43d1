#pragma once

#include <cstddef>
#include <vector>

#include "core/metrics/report/report.hpp"

/// The memories that the panel Memory over time offers, and which of them it shows first.
namespace sluice::gui {

/// Indices into `report::peaks`, sorted by peak, largest first. Peaks of reserved addresses are omitted.
[[nodiscard]] std::vector<std::size_t> get_memories(const metrics::report& whole_report);

/// The memory to show first. Its device is the one with the largest peak, or the host if that peak is less than a
/// hundredth of the host's. Its layer is the innermost one with at least a quarter of the device's peak, because that
/// is memory which the program itself requested. `memories` must be the result of `get_memories`, and must not be empty.
[[nodiscard]] std::size_t choose_best(const metrics::report& whole_report, const std::vector<std::size_t>& memories);

}  // namespace sluice::gui
