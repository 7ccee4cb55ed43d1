// The panel of idle gaps, in a real window.
#include <gtest/gtest.h>

#include <filesystem>

#include "core/base/format.hpp"
#include "core/query/engine/engine.hpp"
#include "core/query/types/idle_gaps.hpp"
#include "tests/core/recordings/recording.hpp"
#include "tests/gui/panels/panel_rows.hpp"
#include "tests/gui/window_fixture.hpp"

namespace sluice::test {
namespace {

constexpr time_ns us = 1000;

class idle_gaps_panel : public window_test {
 protected:
  /// Opens the panel for kernels with gaps of 50 us, 100 us, ...; the host waits in each gap, and a copy ends the last
  /// gap.
  void open_panel(ImGuiTestContext& user) {
    testing::recording recorded;
    recorded.standard_tables();
    time_ns at = 0;
    for (time_ns i = 0; i < 12; ++i) {
      recorded.add_kernel(at, at + 100 * us);
      recorded.add_call(at + 60 * us, at + 145 * us, "cuStreamSynchronize");
      at += 100 * us + (i + 1) * 50 * us;
    }
    recorded.add_copy(at, at + 10 * us, 1 << 20);
    recorded.close();
    std::filesystem::copy_file(recorded.path(), path, std::filesystem::copy_options::overwrite_existing);
    open_sample(user);
    app().invoke("idle_gaps.open");
    user.Yield(4);
    settle(user);
  }
  std::shared_ptr<const query::idle_gap_list> list() {
    return app().state().active()->engine->ask_now(query::idle_gaps_query{app().state().active()->span}).value();
  }
};

TEST_F(idle_gaps_panel, goes_to_a_gap_and_selects_what_ended_it) {
  use([&](ImGuiTestContext& user) {
    open_panel(user);
    const auto found = list();
    const auto rows = get_rows(user, "//Idle gaps");
    ASSERT_GE(rows.size(), 3U);
    // The longest gap is the first row of the last table, which is the rightmost or the lowest table.
    const auto right =
        std::max_element(rows.begin(), rows.end(), [](const ImRect& a, const ImRect& b) { return a.Min.x < b.Min.x; });
    click_row(user, *right);
    settle(user);
    const time_range visible = app().state().active()->visible;
    const metrics::idle_gap& gap = found->gaps[0].gap;
    EXPECT_LE(visible.begin, gap.span.begin);
    EXPECT_GE(visible.end, gap.span.end);
    EXPECT_LT(visible.length(), gap.span.length() * 2);
    EXPECT_EQ(app().state().selected().id, trace::raw(gap.after));
  });
}

}  // namespace
}  // namespace sluice::test
