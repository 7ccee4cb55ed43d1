#pragma once

#include <memory>
#include <vector>

#include "app/gui/views/parts/view.hpp"

namespace sluice::gui {

/// One box of a flame graph that is drawn with callers above callees. The width of a box is proportional to its share
/// of the zoomed frame. Only nodes that are at least half a pixel wide are laid out, so the cost depends on the number
/// of pixels and not on the number of nodes.
struct flame {
  std::uint32_t node = 0;
  std::uint32_t row = 0;  ///< Row 0 contains the zoomed frame.
  double begin = 0;       ///< Left edge as a share of the total width, 0..1.
  double end = 0;
};

/// Lays out the boxes below and including the node `zoom`. The result is sorted by row from top to bottom, then from
/// left to right. O(laid-out nodes and their siblings).
[[nodiscard]] std::vector<flame> lay_out(const metrics::stack_tree& tree, std::uint32_t zoom, metrics::stack_weight by,
                                         double pixels);

/// Like `lay_out`, but without the root, because a line above the chart describes it. The root's callees are then in
/// row 0.
[[nodiscard]] std::vector<flame> lay_out_below_root(const metrics::stack_tree& tree, std::uint32_t zoom,
                                                    metrics::stack_weight by, double pixels);
/// The number of rows that the boxes occupy.
[[nodiscard]] std::uint32_t get_rows(const std::vector<flame>& flames);

/// The node with this id, or the root if there is none.
[[nodiscard]] std::uint32_t find_node(const query::stack_view& view, std::uint64_t id);

/// The nodes on the path of a stack, whose innermost frame is first: each is below the one before it, and frames that the
/// tree leaves out are skipped. Works for trees that start with callers, with callees, or with groups. Empty if no frame
/// is in the tree. O(children of the path's nodes * frames).
[[nodiscard]] std::vector<std::uint32_t> find_stack(const query::stack_view& view,
                                                    const std::vector<symbols::frame_line>& stack);

/// The share of the tree's weight that is in matching nodes. Recursive calls are counted only once.
[[nodiscard]] double compute_share(const query::stack_view& view, const std::vector<bool>& line_matches,
                                   metrics::stack_weight by);

}  // namespace sluice::gui
