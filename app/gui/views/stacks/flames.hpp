#pragma once

#include <memory>
#include <vector>

#include "app/gui/views/view.hpp"

namespace sluice::gui {

/// One box of a flame graph, drawn as an icicle: callers above, width proportional to the share of the zoomed frame.
/// Only nodes at least half a pixel wide are laid out, so the cost depends on pixels, not on nodes.
struct flame {
  std::uint32_t node = 0;
  std::uint32_t row = 0;  ///< 0 is the zoomed frame.
  double begin = 0;       ///< As a share of the width, 0..1.
  double end = 0;
};

/// Sorted by row from the top, then from left to right. O(nodes wide enough, and their siblings).
[[nodiscard]] std::vector<flame> lay_out(const analysis::stack_tree& tree, std::uint32_t zoom,
                                         analysis::stack_weight by, double pixels);

/// As `lay_out`, without the root, which a line above the chart describes: its callees are then in row 0.
[[nodiscard]] std::vector<flame> lay_out_below_root(const analysis::stack_tree& tree, std::uint32_t zoom,
                                                    analysis::stack_weight by, double pixels);
/// The number of rows.
[[nodiscard]] std::uint32_t rows_of(const std::vector<flame>& flames);

/// The node with this id, or the root if there is none.
[[nodiscard]] std::uint32_t find_node(const query::stack_view& view, std::uint64_t id);

/// The share of the tree's weight that is in matching nodes. Recursive calls are counted once.
[[nodiscard]] double share_of(const query::stack_view& view, const std::vector<bool>& line_matches,
                              analysis::stack_weight by);

}  // namespace sluice::gui
