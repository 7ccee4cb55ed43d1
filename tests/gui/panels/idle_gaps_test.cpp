// The panel of idle gaps, in a real window.
#include <gtest/gtest.h>

#include <filesystem>

#include "core/base/format.hpp"
#include "core/query/engine/engine.hpp"
#include "core/query/results/panels/idle_gaps.hpp"
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

TEST_F(idle_gaps_panel, has_the_metrics_of_the_report) {
  use([&](ImGuiTestContext& user) {
    open_panel(user);
    const std::string words = read(user);
    const auto report = app().state().active()->engine->ask_now(query::report_query{}).value();
    ASSERT_EQ(report->whole.devices.size(), 1U);
    const metrics::device_activity& device = report->whole.devices[0];
    const time_ns working = device.last - device.first;
    EXPECT_NE(words.find(format_time(working - device.busy)), std::string::npos) << words;
    EXPECT_NE(words.find(format_share(1 - static_cast<double>(device.busy) / static_cast<double>(working))),
              std::string::npos);
    ASSERT_FALSE(report->waste.gaps.empty());
    for (const metrics::gap_group& each : report->waste.gaps) {
      EXPECT_NE(words.find(format_time(each.total)), std::string::npos) << words;
      EXPECT_NE(words.find(metrics::get_words(each.cause)), std::string::npos);
    }
  });
}

TEST_F(idle_gaps_panel, ranks_the_gaps_by_length) {
  use([&](ImGuiTestContext& user) {
    open_panel(user);
    const std::string words = read(user);
    const auto found = list();
    ASSERT_EQ(found->gaps.size(), 12U);
    const std::size_t first = words.find(format_time(found->gaps[0].gap.span.length()));
    const std::size_t second = words.find(format_time(found->gaps[1].gap.span.length()), first);
    EXPECT_NE(first, std::string::npos) << words;
    EXPECT_NE(second, std::string::npos) << words;
    EXPECT_NE(words.find("synchronization (cuStreamSynchronize)"), std::string::npos);
  });
}

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
