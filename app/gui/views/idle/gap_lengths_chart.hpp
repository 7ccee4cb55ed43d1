#pragma once

#include "app/gui/views/chart/chart_model.hpp"
#include "app/gui/window/theme.hpp"
#include "core/metrics/idle/gap_groups.hpp"

namespace sluice::gui {

/// The chart of idle time by length of gap, with a bar for each doubling of the length. Has no series if there are no
/// gaps. Items are numbers of bins.
[[nodiscard]] chart_model make_gap_lengths_model(const metrics::gap_lengths& lengths, const theme& colours);

}  // namespace sluice::gui
