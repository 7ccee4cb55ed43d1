#pragma once

#include <cstddef>
#include <vector>

#include "core/figures/report.hpp"

/// Which memory the view of memory over time offers, and which it opens on.
namespace sluice::gui {

/// Places in `report::peaks`, the largest first; without reserved addresses.
[[nodiscard]] std::vector<std::size_t> memories_of(const analysis::report& all);

/// Of the device with the largest peak, unless that is less than a hundredth of the host's: the innermost layer with at
/// least a quarter of that peak, which is what the program itself asked for. `memories` is `memories_of` and not empty.
[[nodiscard]] std::size_t best_of(const analysis::report& all, const std::vector<std::size_t>& memories);

}  // namespace sluice::gui
