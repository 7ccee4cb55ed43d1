#pragma once

#include "core/query/results/result_functions.hpp"

/// Parts of the results that are trees of call stacks. Private to core/query.
namespace sluice::query {

/// Returns the functions by which a tree names its lines, without a group. `fold`: hide lines of libraries, except the
/// innermost line of each stack. Sets `*pending` when a native function has no name yet. The result refers to `source`
/// and `pending`, which must outlive it.
[[nodiscard]] metrics::stack_lines make_stack_lines(const sources& source, bool fold, bool* pending);

/// Replaces the line ids in `view.tree` by indices into `view.lines`, which then contains only the lines that the tree
/// uses, and sets the id of each node. O(nodes).
void put_lines(const sources& source, stack_view& view);

}  // namespace sluice::query
