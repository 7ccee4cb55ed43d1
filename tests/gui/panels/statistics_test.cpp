// The panel of statistics, in a real window: durations of events, and steps.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "app/gui/views/statistics/duration_chart.hpp"
#include "core/base/format.hpp"
#include "core/query/engine/engine.hpp"
#include "core/query/types/durations.hpp"
#include "core/query/types/step_statistics.hpp"
#include "tests/core/recordings/steps_program.hpp"
#include "tests/gui/panels/panel_rows.hpp"
#include "tests/gui/panels/placed_chart.hpp"
#include "tests/gui/window_fixture.hpp"

namespace sluice::test {
namespace {

using testing::mib;

class statistics_panel : public window_test {
 protected:
  query::engine& engine() { return *app().state().active()->engine; }
  time_range span() { return app().state().active()->span; }
  query::duration_histogram durations(trace::row_type kind, trace::event_id like = {}) {
    return *engine().ask_now(query::durations_query{span(), kind, {}, like, {}}).value();
  }
  void open_durations(ImGuiTestContext& user) {
    open_sample(user);
    app().invoke("statistics.durations");
    user.Yield(6);
    settle(user);
  }
  void open_steps(ImGuiTestContext& user) {
    testing::recording recorded;
    testing::write_steps(recorded, 12, 8 * mib, mib);
    recorded.close();
    std::filesystem::copy_file(recorded.path(), path, std::filesystem::copy_options::overwrite_existing);
    open_sample(user);
  }
  /// The middle of bar number `bar` in the chart of durations.
  ImVec2 place_of_bar(ImGuiTestContext& user, const query::duration_histogram& histogram, std::size_t bar) {
    gui::chart_model model = gui::make_durations_model(histogram, gui::get_theme(gui::theme_kind::dark));
    model.offers_scales = model.fit(gui::value_scale::clipped) == gui::value_scale::clipped;
    const gui::chart_layout at = find_chart(user, "//Statistics/**/##durations", model);
    const gui::chart_point& point = model.series.at(0).points.at(bar);
    return {(at.to_x(point.begin) + at.to_x(point.end)) * 0.5F, at.area.max.y - 4};
  }
  std::uint64_t selected() {
    return app().state().selected().kind == gui::selection_kind::event ? app().state().selected().id : 0;
  }
};

/// Writes devices "GPU 0", "GPU 1", ... with one block each. The block of each device is 1 MiB larger than that of the
/// device before.
void write_devices(testing::recording& recorded, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) {
    trace::device_row device;
    device.id = trace::device_id{i + 1};
    device.ordinal = static_cast<std::int64_t>(i);
    recorded.writer().add(device);
    auto row = recorded.event<trace::alloc_event>(1'000'000);
    row.block = trace::block_id{i + 1};
    row.bytes = (i + 1) * mib;
    row.kind = trace::memory_kind::device;
    row.device = device.id;
    recorded.writer().add(row);
  }
  recorded.close();
}

TEST_F(statistics_panel, shows_one_of_many_devices_and_another_when_it_is_chosen) {
  testing::recording recorded;
  write_devices(recorded, 8);
  std::filesystem::copy_file(recorded.path(), path, std::filesystem::copy_options::overwrite_existing);
  use([&](ImGuiTestContext& user) {
    open_sample(user);
    app().invoke("panel.focus.Statistics");
    user.Yield(4);
    settle(user);
    const std::string first = read(user);
    EXPECT_NE(first.find("1.00 MiB in 1 |"), std::string::npos) << first;
    EXPECT_EQ(first.find("6.00 MiB in 1 |"), std::string::npos) << first;
    user.SetRef("//Statistics");
    user.ComboClick("##device/$$6/GPU 5");
    user.SetRef("");
    user.Yield(4);
    settle(user);
    const std::string chosen = read(user);
    EXPECT_NE(chosen.find("6.00 MiB in 1 |"), std::string::npos) << chosen;
    EXPECT_EQ(chosen.find("1.00 MiB in 1 |"), std::string::npos) << chosen;
  });
}

TEST_F(statistics_panel, selects_the_longest_of_a_bar_and_steps_on) {
  use([&](ImGuiTestContext& user) {
    open_durations(user);
    const query::duration_histogram histogram = durations(trace::row_type::kernel);
    const auto fullest = std::max_element(histogram.bars.begin(), histogram.bars.end(),
                                          [](const auto& a, const auto& b) { return a.count < b.count; });
    ASSERT_GT(fullest->count, 1U);
    user.MouseMoveToPos(place_of_bar(user, histogram, static_cast<std::size_t>(fullest - histogram.bars.begin())));
    user.MouseClick(0);
    user.Yield(4);
    settle(user);
    EXPECT_EQ(selected(), trace::raw(fullest->longest));
    const query::duration_step after{fullest->from, fullest->to, fullest->span.begin, fullest->longest};
    const auto next = engine().ask_now(query::durations_query{span(), trace::row_type::kernel, {}, {}, after}).value();
    ASSERT_TRUE(next->next);
    user.MouseClick(0);
    user.Yield(4);
    settle(user);
    EXPECT_EQ(selected(), trace::raw(next->next->event));
    EXPECT_NE(selected(), trace::raw(fullest->longest));
  });
}

TEST_F(statistics_panel, shows_a_metric_of_each_step_and_goes_to_the_one_that_is_clicked) {
  use([&](ImGuiTestContext& user) {
    open_steps(user);
    const auto whole = engine().ask_now(query::step_statistics_query{}).value();
    const auto metric = std::find_if(whole->metrics.begin(), whole->metrics.end(),
                                     [](const auto& each) { return each.label.starts_with("peak, GPU 0"); });
    ASSERT_NE(metric, whole->metrics.end());
    app().invoke("statistics.per_step", metric->label);
    user.Yield(6);
    settle(user);
    const std::string words = read(user);
    EXPECT_NE(words.find(metric->label), std::string::npos) << words;
    EXPECT_NE(words.find("12 steps"), std::string::npos) << words;
    EXPECT_NE(words.find("Median " + format_bytes(metric->median)), std::string::npos) << words;
    EXPECT_NE(words.find(format_bytes(metric->values[0])), std::string::npos) << words;
    take_picture(user, "statistics of steps");
    const auto rows = get_rows(user, "//Statistics");
    ASSERT_GE(rows.size(), 3U);
    click_row(user, rows[2]);
    settle(user);
    ASSERT_TRUE(app().state().range());
    EXPECT_EQ(*app().state().range(), whole->steps[2].span);
  });
}

}  // namespace
}  // namespace sluice::test
