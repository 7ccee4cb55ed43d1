#pragma once

#include <memory>
#include <vector>

#include "app/gui/views/parts/view_tables.hpp"
#include "core/metrics/verdict/changed_values.hpp"

namespace sluice::gui {

/// Draws a table of values of both runs: what, where, before, after, the difference, and a bar that goes to the left for
/// less and to the right for more. `name`: of CSV files. `source`: keeps the rows alive. `tables`: those of the view.
void draw_changed_rows(const view_context& with, const char* name, const std::vector<metrics::changed_value>& rows,
                       const std::shared_ptr<const void>& source, view_tables& tables);

}  // namespace sluice::gui
