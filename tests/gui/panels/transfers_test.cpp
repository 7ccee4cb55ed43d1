// The panel of copies, in a real window.
#include <gtest/gtest.h>

#include "app/gui/views/transfers/copy_chart.hpp"
#include "core/base/format.hpp"
#include "core/metrics/base/code_place.hpp"
#include "core/query/engine/engine.hpp"
#include "core/query/types/transfers.hpp"
#include "tests/gui/panels/panel_rows.hpp"
#include "tests/gui/panels/placed_chart.hpp"
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
    const auto copies = table();
    const auto report = engine().ask_now(query::report_query{}).value();
    const gui::chart_model model =
        gui::make_copies_model(*copies, report->whole, std::nullopt, gui::get_theme(gui::theme_kind::dark));
    const gui::chart_layout at = find_chart(user, "//Transfers/##chart", model);
    const metrics::copy_cell& cell = copies->cells.at(0);
    user.MouseTeleportToPos({at.to_x(static_cast<double>(cell.size)), at.to_y(cell.rate)});
    user.Yield(4);
    EXPECT_NE(read(user).find(format_rate(cell.rate)), std::string::npos);
    user.MouseClick(0);
    user.Yield(3);
    EXPECT_EQ(app().state().selected().kind, gui::selection_kind::event);
  });
}

}  // namespace
}  // namespace sluice::test
