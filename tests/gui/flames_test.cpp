#include "app/gui/views/stacks/flames.hpp"

#include <gtest/gtest.h>

namespace sluice::gui {
namespace {

using metrics::stack_weight;

/// A node of a tree in preorder: depth, line, and bytes including all descendants.
struct reported_node {
  std::uint32_t depth, line;
  std::uint64_t bytes;
};
query::stack_view make_tree(const std::vector<reported_node>& nodes) {
  query::stack_view view;
  std::vector<std::uint32_t> path;
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    path.resize(nodes[i].depth);
    view.tree.nodes.push_back(
        {path.empty() ? 0 : path.back(), i + 1, nodes[i].depth, nodes[i].line, {nodes[i].bytes, 1, 0, 0}, {}});
    for (const std::uint32_t above : path) view.tree.nodes[above].end = i + 1;
    path.push_back(i);
    view.ids.push_back(i == 0 ? 0 : 1000 + i);
  }
  return view;
}

const query::stack_view sample = make_tree({{0, 0, 100}, {1, 1, 60}, {2, 2, 40}, {2, 3, 20}, {1, 4, 30}, {2, 1, 30}});

TEST(flames, lie_below_their_callers_and_are_as_wide_as_their_share) {
  const auto placed = lay_out(sample.tree, 0, stack_weight::bytes, 1000);
  ASSERT_EQ(placed.size(), 6U);
  EXPECT_EQ(placed[0].end, 1);
  for (const flame& each : placed) {
    EXPECT_EQ(each.row, sample.tree.nodes[each.node].depth);
    EXPECT_DOUBLE_EQ(each.end - each.begin, static_cast<double>(sample.tree.nodes[each.node].all.bytes) / 100);
  }
  EXPECT_DOUBLE_EQ(placed[2].begin, 0.6) << "next to its sibling; the root's own bytes are at the right";
}

TEST(flames, fill_the_width_with_the_frame_zoomed_to) {
  const auto placed = lay_out(sample.tree, 1, stack_weight::bytes, 1000);
  ASSERT_EQ(placed.size(), 3U);
  EXPECT_EQ(placed[0].row, 0U);
  EXPECT_DOUBLE_EQ(placed[1].end, 40.0 / 60);
}

TEST(flames, too_narrow_to_see_are_not_placed) {
  EXPECT_EQ(lay_out(sample.tree, 0, stack_weight::bytes, 1).size(), 2U);
  EXPECT_TRUE(lay_out(sample.tree, 99, stack_weight::bytes, 100).empty());
  EXPECT_TRUE(lay_out(sample.tree, 0, stack_weight::alone, 100).empty()) << "all weights are 0";
}

TEST(flames, are_found_by_their_ids) {
  EXPECT_EQ(find_node(sample, 1003), 3U);
  EXPECT_EQ(find_node(sample, 77), 0U);
}

/// A view whose lines are functions with these names.
query::stack_view name_lines(query::stack_view view, const std::vector<std::string>& names) {
  for (const std::string& each : names) view.lines.emplace_back().function = each;
  return view;
}
std::vector<symbols::frame_line> make_stack(const std::vector<std::string>& innermost_first) {
  std::vector<symbols::frame_line> stack;
  for (const std::string& each : innermost_first) stack.emplace_back().function = each;
  return stack;
}

TEST(flames, of_a_stack_are_found_from_callers_from_callees_and_below_groups) {
  using path = std::vector<std::uint32_t>;
  const auto callers = name_lines(make_tree({{0, 0, 9}, {1, 1, 9}, {2, 2, 9}, {3, 3, 5}, {3, 4, 4}}),
                                  {"", "main", "step", "forward", "backward"});
  EXPECT_EQ(find_stack(callers, make_stack({"backward", "step", "main"})), (path{1, 2, 4}));
  EXPECT_EQ(find_stack(callers, make_stack({"empty", "backward", "call", "step", "main"})), (path{1, 2, 4}))
      << "frames that are left out are skipped";
  EXPECT_EQ(find_stack(callers, make_stack({"other"})), path{});
  const auto callees =
      name_lines(make_tree({{0, 0, 9}, {1, 1, 9}, {2, 2, 9}, {3, 3, 9}}), {"", "forward", "step", "main"});
  EXPECT_EQ(find_stack(callees, make_stack({"forward", "step", "main"})), (path{1, 2, 3}));
  const auto groups = name_lines(make_tree({{0, 0, 9}, {1, 1, 5}, {2, 2, 5}, {1, 3, 4}, {2, 2, 4}, {3, 4, 4}}),
                                 {"", "train.py:1", "main", "train.py:2", "step"});
  EXPECT_EQ(find_stack(groups, make_stack({"step", "main"})), (path{4, 5})) << "the longest path is that of the stack";
}

TEST(flames, that_match_count_once_when_they_call_themselves) {
  const auto view = make_tree({{0, 0, 100}, {1, 1, 60}, {2, 1, 40}, {1, 2, 30}, {2, 1, 10}});
  EXPECT_DOUBLE_EQ(compute_share(view, {false, true, false}, stack_weight::bytes), 0.7);
  EXPECT_DOUBLE_EQ(compute_share(view, {false, false, false}, stack_weight::bytes), 0);
}

}  // namespace
}  // namespace sluice::gui
