// The panel of copies, in a real window.
#include <gtest/gtest.h>

#include "core/base/format.hpp"
#include "core/metrics/code_place.hpp"
#include "core/query/engine/engine.hpp"
#include "core/query/types/transfers.hpp"
#include "tests/gui/panels/panel_rows.hpp"
#include "tests/gui/window_fixture.hpp"

namespace sluice::test {
namespace {

class transfers_panel : public window_test {
 protected:
  void open_panel(ImGuiTestContext& user) {
    open_sample(user);
    app().invoke("transfers.open");
    user.Yield(4);
    settle(user);
  }
  query::engine& engine() { return *app().state().active()->engine; }
  std::shared_ptr<const metrics::copy_table> table() {
    return engine().ask_now(query::transfers_query{app().state().active()->span}).value();
  }
};

TEST_F(transfers_panel, goes_to_the_largest_copy_of_a_line) {
  use([&](ImGuiTestContext& user) {
    open_panel(user);
    const auto rows = get_rows(user, "//Transfers");
    ASSERT_GE(rows.size(), 4U) << "two directions and two lines";
    click_row(user, rows[2]);
    const auto found = table();
    EXPECT_EQ(app().state().selected().kind, gui::selection_kind::event);
    EXPECT_EQ(app().state().selected().id, trace::raw(found->lines[0].largest));
  });
}

TEST_F(transfers_panel, shows_one_direction_when_it_is_clicked) {
  use([&](ImGuiTestContext& user) {
    open_panel(user);
    const auto found = table();
    click_row(user, get_rows(user, "//Transfers").at(0));
    const std::string words = read(user);
    const auto first = engine().ask_now(query::report_query{}).value()->whole.transfers[0].direction;
    for (const metrics::copy_line& line : found->lines)
      EXPECT_EQ(words.find(to_text(line.place)) != std::string::npos, line.direction == first);
  });
}

TEST_F(transfers_panel, selects_the_copy_of_a_dot) {
  use([&](ImGuiTestContext& user) {
    open_panel(user);
    const ImRect chart = user.ItemInfo("//Transfers/##chart").RectFull;
    ASSERT_GT(chart.GetWidth(), 100);
    // All copies move 16 MB at 53.3 GB/s. The axes range from 8 MiB to 128 MiB and from 10 to 100 GB/s.
    const ImVec2 dot{chart.Min.x + 65 + 0.23F * (chart.GetWidth() - 75),
                     chart.Max.y - 20 - 0.727F * (chart.GetHeight() - 44)};
    const auto tip_is_shown = [] {
      const ImGuiWindow* tip = ImGui::FindWindowByName("##Tooltip_00");
      return tip != nullptr && tip->Active && !tip->Hidden;
    };
    bool found = false;
    for (float y = dot.y - 18; y < dot.y + 20 && !found; y += 6)
      for (float x = dot.x - 24; x < dot.x + 26 && !found; x += 8) {
        user.MouseTeleportToPos({x, y});
        user.Yield(2);
        found = tip_is_shown();
      }
    ASSERT_TRUE(found);
    EXPECT_NE(read(user).find(format_rate(table()->cells[0].rate)), std::string::npos);
    user.MouseClick(0);
    user.Yield(3);
    EXPECT_EQ(app().state().selected().kind, gui::selection_kind::event);
  });
}

}  // namespace
}  // namespace sluice::test
