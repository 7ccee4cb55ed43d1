#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

#include "imgui_te_context.h"

/// Finds the rows of tables in a panel, for tests that click on them.
namespace sluice::test {

/// The rows of all tables in a panel, top to bottom.
inline std::vector<ImRect> get_rows(ImGuiTestContext& user, const char* panel) {
  ImGuiTestItemList items;
  user.GatherItems(&items, panel, 20);
  std::vector<ImRect> rows;
  for (const ImGuiTestItemInfo& each : items)
    if (std::string_view(each.DebugLabel) == "##row") rows.push_back(each.RectFull);
  std::sort(rows.begin(), rows.end(), [](const ImRect& a, const ImRect& b) {
    return a.Min.y != b.Min.y ? a.Min.y < b.Min.y : a.Min.x < b.Min.x;
  });
  return rows;
}

/// Clicks at the right end of a row, where there is no other item.
inline void click_row(ImGuiTestContext& user, const ImRect& row) {
  user.MouseMoveToPos({row.Max.x - 6, row.GetCenter().y});
  user.MouseClick(0);
  user.Yield(3);
}

}  // namespace sluice::test
