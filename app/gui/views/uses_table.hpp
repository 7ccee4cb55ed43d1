#pragma once

#include <string>
#include <vector>

#include "app/gui/views/table/table_model.hpp"
#include "app/gui/window/theme.hpp"
#include "core/query/types/block_uses.hpp"

/// The uses of a block, as the panel Details lists them. Needs no display.
namespace sluice::gui {

/// When the device ran the use; if that is not known, when it was enqueued.
[[nodiscard]] time_range get_time(const query::block_use& use);
/// `uses` must outlive the table.
[[nodiscard]] table_of<query::block_use> make_table_of_uses(const query::block_use_list& uses, const theme& colours);
/// What the table does not list, and how to record it; a paragraph each.
[[nodiscard]] std::vector<std::string> describe(const query::block_use_list& uses);

}  // namespace sluice::gui
