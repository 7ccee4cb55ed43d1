#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/figures/stack_use.hpp"
#include "core/trace/model/tables.hpp"

/// Merges call stacks into one tree, for flame graphs.
namespace sluice::analysis {

enum class stack_weight : std::uint8_t { bytes, count, busy, alone };

[[nodiscard]] std::uint64_t weight_of(const stack_figures& figures, stack_weight by);

struct stack_node {
  std::uint32_t parent = 0;
  std::uint32_t end =
      0;  ///< Index after the node's last descendant. Nodes are in preorder, children sorted by weight, heaviest first.
  std::uint32_t depth = 0;  ///< 0: the root.
  std::uint32_t line = 0;   ///< The line that the node stands for, a number from `stack_lines`; the root has none.
  stack_figures all;        ///< Sum over the node's whole subtree.
  stack_figures own;        ///< Sum over the stacks that end at this node.
};

struct stack_tree {
  std::vector<stack_node> nodes;  ///< The first is the root, which always exists.
  bool cut = false;               ///< Some stacks are truncated: too deep, cyclic, or too many nodes in the tree.

  static constexpr std::size_t most_nodes = 200'000;
  static constexpr std::size_t most_depth = 2048;
};

/// Maps stack frames to lines: numbers that the caller chooses. Frames with the same text have the same line.
struct stack_lines {
  std::function<std::vector<std::uint32_t>(trace::frame_id)> of;  ///< Innermost first; empty: skips the frame.
  /// Selects lines to hide, such as a library's. The innermost line of a stack is always kept. Null: hide none.
  std::function<bool(std::uint32_t)> folded;
  std::uint32_t none = 0;  ///< The line for events without a stack.
  std::uint32_t cut = 0;   ///< The line for callers that were cut off.
  /// The line of a stack's group, the first level of the tree. Null: the tree begins with the stacks' own lines.
  std::function<std::uint32_t(trace::stack_id)> group{};
};

enum class stack_order : std::uint8_t {
  from_caller,  ///< Children are the callees.
  from_callee   ///< Children are the callers: the tree starts at the lines that allocate or copy.
};

/// Merges the stacks in `use` by their lines, heaviest first, so that limits only cut light ones. All sums stay exact,
/// whatever is cut. O(sum of depths). If `cancelled` becomes true, returns an unfinished tree.
[[nodiscard]] stack_tree merge_stacks(const stack_use& use, const trace::tables& tables, const stack_lines& lines,
                                      stack_order order, stack_weight by, const std::atomic<bool>& cancelled);

}  // namespace sluice::analysis
