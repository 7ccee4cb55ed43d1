// The memory map in a real window: the moment that it shows, and finding blocks and holes with the mouse.
#include <gtest/gtest.h>

#include "app/gui/views/memory_map/memory_map.hpp"
#include "core/base/format.hpp"
#include "core/query/types/memory_map.hpp"
#include "tests/gui/window_fixture.hpp"

namespace sluice::test {
namespace {

using gui::selection_kind;

class memory_map_panel : public window_test {
 protected:
  time_ns peak_of_pool() {
    const auto whole = *app().state().active()->engine->ask_now(query::report_query{});
    time_ns peak = 0;
    for (const auto& each : whole->peaks)
      if (each.layer == trace::layer::pool) peak = each.time;
    return peak;
  }
  static constexpr trace::block_id segment{1};

  const gui::memory_map_view& panel() { return app().find<gui::memory_map_view>(); }
  void open_panel(ImGuiTestContext& user) {
    open_sample(user);
    app().invoke("map.open");
    user.Yield(4);
    settle(user);
  }
  void go_to(ImGuiTestContext& user, time_ns moment) {
    app().invoke("moment.set", time_range{moment, moment});
    user.Yield(3);
    settle(user);
  }
  /// The map that the window should show at `moment`.
  query::memory_map map_at(time_ns moment) {
    return **app().state().active()->engine->ask_now(
        query::memory_map_query{.time = moment, .device = trace::device_id{1}, .pixel = 1, .lone = true});
  }
  const query::address_segment& find_pool(const query::memory_map& map) {
    for (const query::address_segment& each : map.segments)
      if (each.block == segment) return each;
    ADD_FAILURE() << "no segment";
    return map.segments.at(0);
  }
};

TEST_F(memory_map_panel, shows_the_peak_while_no_moment_is_chosen) {
  use([&](ImGuiTestContext& user) {
    open_panel(user);
    const time_ns peak = peak_of_pool();
    ASSERT_TRUE(panel().moment().has_value());
    EXPECT_EQ(*panel().moment(), peak) << "the peak of the most detailed layer";
    const query::memory_map map = map_at(peak);
    const query::address_segment& pool = find_pool(map);
    const std::string words = read(user);
    EXPECT_NE(words.find("the peak"), std::string::npos) << words;
    EXPECT_NE(words.find("Driver segments"), std::string::npos) << words;
    EXPECT_NE(words.find(format_bytes(pool.bytes - pool.used) + " free"), std::string::npos) << words;
    EXPECT_NE(words.find("largest free " + format_bytes(pool.largest_hole)), std::string::npos) << words;
    EXPECT_NE(words.find("fragmentation " + format_share(pool.fragmentation())), std::string::npos) << words;
    EXPECT_NE(words.find(format_address(pool.address)), std::string::npos) << words;
  });
}

TEST_F(memory_map_panel, follows_a_click_on_the_timeline) {
  use([&](ImGuiTestContext& user) {
    open_panel(user);
    user.MouseMoveToPos(get_place(12'000'000, 60));
    user.MouseClick(0);
    user.Yield(3);
    settle(user);
    ASSERT_TRUE(app().state().moment().has_value());
    EXPECT_NEAR(static_cast<double>(*app().state().moment()), 12e6, 1e5);
    EXPECT_EQ(panel().moment(), app().state().moment());
    ASSERT_NE(panel().shown(), nullptr);
    EXPECT_EQ(panel().shown()->time, *app().state().moment());
    EXPECT_EQ(find_pool(*panel().shown()).used, find_pool(map_at(*app().state().moment())).used);
    const time_ns clicked = *app().state().moment();
    app().invoke("moment.peak");
    settle(user);
    ASSERT_TRUE(app().state().moment().has_value());
    EXPECT_NE(*app().state().moment(), clicked);
    EXPECT_EQ(*app().state().moment(), peak_of_pool());
  });
}

TEST_F(memory_map_panel, is_moved_by_dragging_along_the_curve) {
  use([&](ImGuiTestContext& user) {
    open_panel(user);
    const ImGuiTestItemInfo strip = user.ItemInfo("//Memory map/moment");
    const ImRect area = strip.RectFull;
    user.MouseMoveToPos({area.Min.x + area.GetWidth() * 0.25F, area.GetCenter().y});
    user.MouseDown(0);
    user.MouseMoveToPos({area.Min.x + area.GetWidth() * 0.5F, area.GetCenter().y});
    user.MouseUp(0);
    user.Yield(3);
    settle(user);
    const time_range span = app().state().active()->span;
    ASSERT_TRUE(panel().moment().has_value());
    EXPECT_NEAR(static_cast<double>(*panel().moment() - span.begin), static_cast<double>(span.length()) / 2,
                static_cast<double>(span.length()) / 100);
  });
}

TEST_F(memory_map_panel, steps_from_allocation_to_free_with_the_arrow_keys) {
  use([&](ImGuiTestContext& user) {
    open_panel(user);
    go_to(user, 5'000'000);
    time_ns now = 5'000'000;
    const auto& engine = app().state().active()->engine;
    for (const ImGuiKey key : {ImGuiKey_RightArrow, ImGuiKey_RightArrow, ImGuiKey_RightArrow, ImGuiKey_LeftArrow}) {
      const bool forward = key == ImGuiKey_RightArrow;
      const auto expected = *engine->ask_now(query::memory_step_query{now, forward, trace::device_id{1}});
      user.KeyPress(key);
      user.Yield(2);
      settle(user);
      ASSERT_EQ(app().state().moment(), expected->time);
      now = expected->time;
      const std::string subject = expected->born > 0 ? "allocated " + format_bytes(expected->born_bytes)
                                                     : "freed " + format_bytes(expected->died_bytes);
      EXPECT_NE(read(user).find(subject), std::string::npos) << subject;
    }
    EXPECT_EQ(app().state().selected().kind, selection_kind::none) << "a step selects nothing";
    user.KeyPress(ImGuiKey_Comma);
    user.Yield(2);
    settle(user);
    EXPECT_LT(*app().state().moment(), now) << "the key works wherever the focus is";
  });
}

TEST_F(memory_map_panel, selects_the_block_that_is_clicked_and_marks_it) {
  use([&](ImGuiTestContext& user) {
    open_panel(user);
    go_to(user, 10'000'000);
    const query::memory_map map = map_at(10'000'000);
    const query::address_segment& pool = find_pool(map);
    ASSERT_GE(pool.items.size(), 2U);
    const query::address_item& wanted = pool.items[1];
    const auto place = panel().get_place(segment, wanted.address + wanted.bytes / 4);
    ASSERT_TRUE(place.has_value());
    user.MouseMoveToPos(*place);
    user.SleepNoSkip(0.2F, 0.05F);
    settle(user);
    const std::string tip = read(user);
    EXPECT_NE(tip.find("chunk buffer"), std::string::npos) << tip;
    EXPECT_NE(tip.find(format_bytes(wanted.used)), std::string::npos);
    EXPECT_NE(tip.find(format_time(10'000'000 - wanted.born)), std::string::npos) << "its age";
    EXPECT_NE(tip.find("pipeline.py:41"), std::string::npos) << "the line of its stack: " << tip;
    user.MouseClick(0);
    user.Yield(3);
    settle(user);
    EXPECT_EQ(app().state().selected().kind, selection_kind::block);
    EXPECT_EQ(app().state().selected().id, trace::raw(wanted.block));
    const auto& marked = panel().shown()->marked;
    ASSERT_EQ(marked.size(), 1U);
    EXPECT_EQ(marked[0].address, wanted.address);
  });
}

TEST_F(memory_map_panel, tells_how_large_a_hole_is) {
  use([&](ImGuiTestContext& user) {
    open_panel(user);
    go_to(user, 10'000'000);
    const query::memory_map map = map_at(10'000'000);
    const query::address_segment& pool = find_pool(map);
    const query::address_item& last = pool.items.back();
    const std::uint64_t hole = pool.address + pool.bytes - (last.address + last.bytes);
    ASSERT_GT(hole, sample::slot_bytes / 4);
    const auto place = panel().get_place(segment, last.address + last.bytes + hole / 2);
    ASSERT_TRUE(place.has_value());
    user.MouseMoveToPos(*place);
    user.Yield(3);
    EXPECT_NE(read(user).find(format_bytes(hole) + " free"), std::string::npos);
    user.MouseClick(0);
    user.Yield(2);
    EXPECT_EQ(app().state().selected().kind, selection_kind::none) << "a hole cannot be selected";
  });
}

TEST_F(memory_map_panel, leads_to_a_selected_block_that_is_not_there) {
  use([&](ImGuiTestContext& user) {
    open_panel(user);
    go_to(user, 20'000'000);
    app().invoke("selection.set", gui::selection{gui::document_id::none, selection_kind::block, 3});
    user.Yield(3);
    app().invoke("map.open");
    user.Yield(3);
    settle(user);
    EXPECT_NE(read(user).find("The selected block was freed"), std::string::npos) << read(user);
    const auto details = *app().state().active()->engine->ask_now(query::details_query{{}, trace::block_id{3}});
    go_to(user, details->span.begin);
    EXPECT_EQ(read(user).find("The selected block was freed"), std::string::npos);
    ASSERT_FALSE(panel().shown()->marked.empty());
    EXPECT_TRUE(panel().shown()->marked[0].live);
  });
}

TEST_F(memory_map_panel, zooms_and_scrolls) {
  use([&](ImGuiTestContext& user) {
    open_panel(user);
    go_to(user, 10'000'000);
    const query::memory_map map = map_at(10'000'000);
    const query::address_segment& pool = find_pool(map);
    const std::uint64_t end = pool.address + pool.bytes - 1;
    ASSERT_TRUE(panel().get_place(segment, end).has_value()) << "the whole segment is visible";
    for (int i = 0; i < 7; ++i) app().invoke("map.zoom_in");
    user.Yield(3);
    settle(user);
    EXPECT_FALSE(panel().get_place(segment, end).has_value());
    const ImGuiTestItemInfo strip = user.ItemInfo("//Memory map/moment");
    user.MouseMoveToPos({strip.RectFull.GetCenter().x, strip.RectFull.Max.y + 60});
    user.MouseWheelY(-2000);
    user.Yield(3);
    settle(user);
    EXPECT_FALSE(panel().get_place(segment, pool.address).has_value());
    app().invoke("map.fit");
    user.Yield(3);
    settle(user);
    EXPECT_TRUE(panel().get_place(segment, end).has_value());
  });
}

TEST_F(memory_map_panel, says_so_where_nothing_is_allocated) {
  use([&](ImGuiTestContext& user) {
    open_panel(user);
    go_to(user, 0);
    EXPECT_NE(read(user).find("No memory at this moment"), std::string::npos) << read(user);
  });
}

}  // namespace
}  // namespace sluice::test
