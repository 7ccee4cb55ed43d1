// The rows of a query as a track of the timeline, in a real window.
#include <gtest/gtest.h>

#include <algorithm>

#include "app/gui/views/timeline/timeline.hpp"
#include "core/query/engine/engine.hpp"
#include "tests/gui/window_fixture.hpp"

namespace sluice::test {
namespace {

class query_track : public window_test {
 protected:
  const gui::query_tracks* tracks() { return app().find<gui::timeline_view>().queries(app().state().active()->id); }
  /// Runs a query in the query panel and shows its rows as a track.
  void show(ImGuiTestContext& user, const std::string& text) {
    app().invoke("query.run", text);
    user.Yield(4);
    settle(user);
    app().invoke("query.as_track");
    user.Yield(4);
    settle(user);
    user.Yield(2);
  }
  bool offered() {
    const gui::command* command = app().commands().find("query.as_track");
    return command != nullptr && app().commands().enabled(*command);
  }
};

TEST_F(query_track, shows_the_rows_and_selects_the_event_of_the_one_that_is_clicked) {
  use([&](ImGuiTestContext& user) {
    open_sample(user);
    show(user, "-- all kernels\nSELECT id, time, end, name FROM kernels ORDER BY time");
    ASSERT_NE(tracks(), nullptr);
    ASSERT_EQ(tracks()->all().size(), 1U);
    const gui::query_tracks::one& one = tracks()->all()[0];
    ASSERT_NE(one.rows, nullptr);
    EXPECT_EQ(one.about.label, "all kernels");
    EXPECT_EQ(one.rows->rows(), static_cast<std::uint64_t>(sample::chunks));
    std::vector<timeline::drawn_slice> slices;
    one.rows->draw(app().state().active()->span, 100'000, slices);
    ASSERT_EQ(slices.size(), static_cast<std::size_t>(sample::chunks));
    const timeline::slice_item& middle = slices[slices.size() / 2].item;
    app().invoke("timeline.show", time_range{middle.begin - 100'000, middle.end + 100'000});
    user.Yield(6);
    settle(user);
    take_picture(user, "query track");
    EXPECT_NE(read(user).find("Queries"), std::string::npos);
    // Below the group's heading.
    user.MouseMoveToPos(get_place((middle.begin + middle.end) / 2, 36));
    user.Yield(2);
    EXPECT_NE(read(user).find("row of a query"), std::string::npos);
    user.MouseClick(0);
    user.Yield(4);
    EXPECT_EQ(app().state().selected().kind, gui::selection_kind::event);
    EXPECT_EQ(app().state().selected().id, trace::raw(middle.event));
  });
}

TEST_F(query_track, selects_blocks_where_the_rows_are_blocks) {
  use([&](ImGuiTestContext& user) {
    open_sample(user);
    show(user, "SELECT id, born, died FROM blocks WHERE id = 1");
    ASSERT_NE(tracks(), nullptr);
    ASSERT_EQ(tracks()->all().size(), 1U);
    ASSERT_EQ(tracks()->all()[0].rows->rows(), 1U);
    const time_range span = app().state().active()->span;
    user.MouseMoveToPos(get_place(span.begin + span.length() / 2, 36));
    user.Yield(2);
    user.MouseClick(0);
    user.Yield(4);
    EXPECT_EQ(app().state().selected().kind, gui::selection_kind::block);
    EXPECT_EQ(app().state().selected().id, 1U);
  });
}

TEST_F(query_track, is_offered_only_where_rows_have_a_time) {
  use([&](ImGuiTestContext& user) {
    open_sample(user);
    app().invoke("query.run", std::string("SELECT name FROM kernels"));
    user.Yield(4);
    settle(user);
    EXPECT_FALSE(offered());
    app().invoke("query.run", std::string("SELECT time FROM kernels"));
    user.Yield(4);
    settle(user);
    EXPECT_TRUE(offered());
  });
}

TEST_F(query_track, says_why_a_query_failed_and_can_be_removed) {
  use([&](ImGuiTestContext& user) {
    open_sample(user);
    app().invoke("timeline.add_query", std::string("SELECT x FROM nowhere"));
    user.Yield(4);
    settle(user);
    user.Yield(2);
    ASSERT_EQ(tracks()->all().size(), 1U);
    EXPECT_EQ(tracks()->all()[0].rows, nullptr);
    EXPECT_NE(tracks()->all()[0].about.detail.find("nowhere"), std::string::npos) << tracks()->all()[0].about.detail;
    app().invoke("timeline.remove_query",
                 gui::selection{app().state().active()->id, gui::selection_kind::track, tracks()->all()[0].id});
    user.Yield(2);
    EXPECT_TRUE(tracks()->all().empty());
  });
}

TEST_F(query_track, is_there_once_and_with_few_others) {
  use([&](ImGuiTestContext& user) {
    open_sample(user);
    for (int i = 0; i < 12; ++i) app().invoke("timeline.add_query", "SELECT 1 AS time, " + std::to_string(i / 2));
    for (int i = 0; i < 12; ++i) app().invoke("timeline.add_query", "SELECT 2 AS time, " + std::to_string(i));
    user.Yield(4);
    settle(user);
    EXPECT_EQ(tracks()->all().size(), gui::query_tracks::most);
    EXPECT_TRUE(std::all_of(tracks()->all().begin(), tracks()->all().end(),
                            [](const auto& each) { return each.task == nullptr; }));
  });
}

}  // namespace
}  // namespace sluice::test
