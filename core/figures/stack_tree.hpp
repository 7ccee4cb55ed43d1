#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/figures/stack_use.hpp"
#include "core/trace/model/tables.hpp"

/// Call stacks merged into one tree.
namespace sluice::analysis {

enum class stack_weight : std::uint8_t { bytes, count, busy, alone };

[[nodiscard]] std::uint64_t weight_of(const stack_figures& figures, stack_weight by);

struct stack_node {
  std::uint32_t parent = 0;
  std::uint32_t end =
      0;  ///< One past its last descendant: the nodes are in preorder, children by weight, heaviest first.
  std::uint32_t depth = 0;  ///< 0: the root.
  std::uint32_t line = 0;   ///< Which line of a stack it is; the root has none.
  stack_figures all;        ///< Of it and of everything below it.
  stack_figures own;        ///< Of stacks that end here.
};

struct stack_tree {
  std::vector<stack_node> nodes;  ///< The first is the root, always there.
  bool cut = false;  ///< Some stacks end earlier than they do: too deep, a ring of parents, or too many nodes.

  static constexpr std::size_t most_nodes = 200'000;
  static constexpr std::size_t most_depth = 2048;
};

/// How frames become lines of the tree. Frames that read the same have the same line.
struct stack_lines {
  std::function<std::vector<std::uint32_t>(trace::frame_id)> of;  ///< Innermost first; none to leave it out.
  /// Lines to leave out, such as a library's, so that what is left is short; the innermost line of a stack stays. Null: none.
  std::function<bool(std::uint32_t)> folded;
  std::uint32_t none = 0;  ///< Of what has no stack.
  std::uint32_t cut = 0;   ///< In place of callers that are not followed.
};

enum class stack_order : std::uint8_t {
  from_caller,  ///< Children are what a function called.
  from_callee   ///< Children are who called it: the tree is read from where memory was allocated outwards.
};

/// Merges `shares` by the lines of their stacks; the heaviest first, so that what a limit cuts is light. The sums are exact
/// at every node, whatever is cut. O(sum of depths); `cancelled` is looked at now and then, and the tree is then unfinished.
[[nodiscard]] stack_tree merge_stacks(const stack_use& use, const trace::tables& tables, const stack_lines& lines,
                                      stack_order order, stack_weight by, const std::atomic<bool>& cancelled);

}  // namespace sluice::analysis
