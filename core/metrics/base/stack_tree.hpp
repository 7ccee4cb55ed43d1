#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/metrics/base/stack_use.hpp"
#include "core/trace/model/tables.hpp"

/// Merges call stacks into one tree, for flame graphs.
namespace sluice::metrics {

/// The member of `stack_metrics` by which nodes are sorted and sized.
enum class stack_weight : std::uint8_t { bytes, count, busy, alone };

[[nodiscard]] std::uint64_t get_weight(const stack_metrics& metrics, stack_weight by);

/// A node of a `stack_tree`: one line in the context of its callers or callees.
struct stack_node {
  std::uint32_t parent = 0;
  std::uint32_t end = 0;    ///< Index after the node's last descendant. Nodes are in preorder, children heaviest first.
  std::uint32_t depth = 0;  ///< The depth in the tree; 0 for the root.
  std::uint32_t line = 0;   ///< The node's line, a number from `stack_lines`; unused for the root.
  stack_metrics all;        ///< Sum over the node's whole subtree.
  stack_metrics own;        ///< Sum over the stacks that end at this node.
};

/// A tree of merged call stacks.
struct stack_tree {
  std::vector<stack_node> nodes;  ///< The first node is the root, which always exists.
  /// True if some stacks are truncated, because they are too deep or cyclic, or because the tree would have too many
  /// nodes.
  bool cut = false;

  static constexpr std::size_t max_nodes = 200'000;
  static constexpr std::size_t max_depth = 2048;
};

/// Maps stack frames to lines. A line is a number that the caller chooses. Frames with the same text have the same
/// number.
struct stack_lines {
  /// Returns the lines of a frame, innermost first. An empty result skips the frame.
  std::function<std::vector<std::uint32_t>(trace::frame_id)> look_up;
  /// Returns true for lines to hide, such as those in a library. The innermost line of a stack is always kept. If the
  /// function is null, no lines are hidden.
  std::function<bool(std::uint32_t)> folded;
  std::uint32_t none = 0;  ///< The line for events without a stack.
  std::uint32_t cut = 0;   ///< The line that replaces callers that were cut off.
  /// Returns the line of a stack's group, which becomes the first level of the tree. If the function is null, the tree
  /// starts with the lines of the stacks.
  std::function<std::uint32_t(trace::stack_id)> group{};
};

/// The direction in which a tree follows stacks.
enum class stack_order : std::uint8_t {
  from_caller,  ///< Children are the callees.
  from_callee   ///< Children are the callers, so the tree starts at the lines that allocate or copy.
};

/// A stack, its sums, and what the code at its end was doing.
struct stack_part {
  trace::stack_id stack{};
  /// A line that follows the stack's innermost line, as if that line had called it: "(waiting: futex)". It is never
  /// hidden by `stack_lines::folded`.
  std::optional<std::uint32_t> last{};
  stack_metrics metrics;
};

/// Merges stacks, of which several may be equal, by their lines. See the overload below.
[[nodiscard]] stack_tree merge_stacks(std::vector<stack_part> parts, const trace::tables& tables,
                                      const stack_lines& lines, stack_order order, stack_weight by,
                                      const std::atomic<bool>& cancelled);

/// Merges the stacks in `use` by their lines. Adds the heaviest stacks first, so that the limits cut off only light
/// stacks. All sums stay exact even if stacks are cut. O(sum of depths). If `cancelled` becomes true, returns an
/// incomplete tree.
[[nodiscard]] stack_tree merge_stacks(const stack_use& use, const trace::tables& tables, const stack_lines& lines,
                                      stack_order order, stack_weight by, const std::atomic<bool>& cancelled);

}  // namespace sluice::metrics
