#pragma once

#include <memory>
#include <vector>

#include "app/gui/views/view.hpp"

namespace sluice::gui {

/// Where the nodes of a call tree are drawn: an icicle, callers above, each as wide as its share of the frame that the chart
/// is zoomed to. Only what is at least half a pixel wide has a place: cost follows pixels, not nodes.
struct flame {
  std::uint32_t node = 0;
  std::uint32_t row = 0;  ///< 0: the frame zoomed to.
  double begin = 0;       ///< 0..1 of the width.
  double end = 0;
};

/// Top rows first; a row from left to right. O(nodes wide enough, and their siblings).
[[nodiscard]] std::vector<flame> lay_out(const analysis::stack_tree& tree, std::uint32_t zoom,
                                         analysis::stack_weight by, double pixels);

/// The node with that id, the root if there is none.
[[nodiscard]] std::uint32_t find_node(const query::stack_view& view, std::uint64_t id);

/// The share of the tree's weight in nodes that match, each counted once however often it calls itself.
[[nodiscard]] double share_of(const query::stack_view& view, const std::vector<bool>& line_matches,
                              analysis::stack_weight by);

}  // namespace sluice::gui
