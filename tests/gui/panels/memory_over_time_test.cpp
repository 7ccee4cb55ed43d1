// The panel of memory over time, in a real window, and the layout of its shapes.
#include <gtest/gtest.h>

#include <filesystem>

#include "app/gui/views/blocks.hpp"
#include "app/gui/views/memory_over_time/block_shapes.hpp"
#include "core/base/format.hpp"
#include "core/query/engine/engine.hpp"
#include "core/query/types/memory_groups.hpp"
#include "imgui_internal.h"
#include "tests/core/recordings/torch_program.hpp"
#include "tests/gui/panels/panel_rows.hpp"
#include "tests/gui/window_fixture.hpp"

namespace sluice::test {
namespace {

using gui::block_shapes;
using gui::lay_out;
using gui::shaped_block;

shaped_block block(std::uint64_t id, time_ns born, time_ns died, std::uint64_t bytes) {
  shaped_block output;
  output.block = trace::block_id{id};
  output.born = born;
  output.died = died;
  output.bytes = bytes;
  return output;
}

TEST(block_shapes, lie_on_top_of_older_blocks) {
  const block_shapes shapes = lay_out({block(1, 0, 100, 10), block(2, 20, 100, 5)}, {0, 100}, 100);
  ASSERT_EQ(shapes.pieces.size(), 2U);
  EXPECT_EQ(shapes.pieces[0].offset, 0U);
  EXPECT_EQ(shapes.pieces[1].offset, 10U);
  EXPECT_EQ(shapes.pieces[1].begin, 20);
  EXPECT_EQ(shapes.pieces[1].end, 100);
  EXPECT_EQ(shapes.highest, 15U);
}

TEST(block_shapes, move_down_when_an_older_block_is_freed) {
  const block_shapes shapes = lay_out({block(1, 0, 50, 10), block(2, 20, 200, 5)}, {0, 100}, 100);
  ASSERT_EQ(shapes.pieces.size(), 3U);
  EXPECT_EQ(shapes.pieces[0].block, 0U);
  EXPECT_EQ(shapes.pieces[1].block, 1U);
  EXPECT_EQ(shapes.pieces[1].end, 50);
  EXPECT_EQ(shapes.pieces[2].block, 1U);
  EXPECT_EQ(shapes.pieces[2].begin, 50);
  EXPECT_EQ(shapes.pieces[2].end, 100);
  EXPECT_EQ(shapes.pieces[2].offset, 0U);
}

TEST(block_shapes, of_short_lives_in_the_same_part_do_not_pile_up) {
  std::vector<shaped_block> blocks = {block(1, 0, 100, 100)};
  for (std::uint64_t i = 0; i < 8; ++i) {
    const auto born = static_cast<time_ns>(10 + i);
    blocks.push_back(block(i + 2, born, born + 1, 10));
  }
  const block_shapes shapes = lay_out(std::move(blocks), {0, 100}, 2);
  EXPECT_EQ(shapes.highest, 110U);
  for (const gui::shape_piece& each : shapes.pieces)
    EXPECT_LE(each.offset + shapes.blocks[each.block].bytes, 110U) << each.block;
}

TEST(block_shapes, of_too_many_pieces_are_none) {
  std::vector<shaped_block> blocks;
  for (std::uint64_t i = 0; i < 1000; ++i) blocks.push_back(block(i + 1, 0, static_cast<time_ns>(i + 1), 10));
  const block_shapes shapes = lay_out(std::move(blocks), {0, 2000}, 2000);
  EXPECT_TRUE(shapes.too_many);
  EXPECT_TRUE(shapes.pieces.empty());
}

class memory_over_time_panel : public window_test {
 protected:
  void open_panel(ImGuiTestContext& user) {
    open_sample(user);
    app().invoke("memory_over_time.open");
    user.Yield(4);
    settle(user);
  }
  void choose(ImGuiTestContext& user, const char* combo, const char* entry) {
    user.ItemClick((std::string("//Memory over time/") + combo).c_str());
    user.Yield(2);
    user.ItemClick((std::string("//$FOCUSED/") + entry).c_str());
    user.Yield(3);
    settle(user);
  }
  ImRect chart(ImGuiTestContext& user) { return user.ItemInfo("//Memory over time/##chart").RectFull; }
  query::engine& engine() { return *app().state().active()->engine; }
  /// The memory peak that the panel initially shows.
  metrics::memory_peak shown() {
    const auto report = engine().ask_now(query::report_query{}).value();
    std::uint64_t most = 0;
    for (const auto& each : report->peaks) most = std::max(most, each.bytes);
    metrics::memory_peak best = report->peaks.at(0);
    for (const auto& each : report->peaks)
      if (each.device != trace::device_id::none && each.bytes >= most / 4 && each.layer >= best.layer) best = each;
    return best;
  }
};

TEST_F(memory_over_time_panel, goes_to_the_peak) {
  use([&](ImGuiTestContext& user) {
    open_panel(user);
    const metrics::memory_peak peak = shown();
    // The link is the text to the right of the combo boxes.
    const ImRect by = user.ItemInfo("//Memory over time/##by").RectFull;
    user.MouseMoveToPos({by.Max.x + 24, by.GetCenter().y});
    user.MouseClick(0);
    user.Yield(3);
    ASSERT_TRUE(app().state().moment());
    EXPECT_EQ(*app().state().moment(), peak.time);
  });
}

TEST_F(memory_over_time_panel, sets_the_moment_where_it_is_clicked_and_tells_of_it) {
  use([&](ImGuiTestContext& user) {
    open_panel(user);
    choose(user, "##by", "by layer");
    const ImRect area = chart(user);
    user.MouseMoveToPos({area.Min.x + area.GetWidth() * 0.6F, area.Max.y - 40});
    user.MouseClick(0);
    user.Yield(3);
    ASSERT_TRUE(app().state().moment());
    EXPECT_NE(read(user).find("at " + format_moment(*app().state().moment())), std::string::npos);
  });
}

TEST_F(memory_over_time_panel, draws_each_block_where_there_are_few_and_selects_the_one_that_is_clicked) {
  use([&](ImGuiTestContext& user) {
    open_panel(user);
    choose(user, "##by", "by line");
    EXPECT_EQ(read(user).find("Zoom in to see each block"), std::string::npos) << "the sample has only a few blocks";
    const ImRect area = chart(user);
    user.MouseMoveToPos({area.Min.x + area.GetWidth() * 0.6F, area.Max.y - 40});
    user.Yield(3);
    settle(user);
    const std::string words = read(user);
    EXPECT_NE(words.find("allocated"), std::string::npos) << words;
    user.MouseClick(0);
    user.Yield(3);
    ASSERT_EQ(app().state().selected().kind, gui::selection_kind::block);
    const auto reported =
        engine()
            .ask_now(query::details_query{trace::event_id::none, trace::block_id{app().state().selected().id}})
            .value();
    ASSERT_FALSE(reported->stack.empty());
    EXPECT_NE(words.find(symbols::get_name(reported->stack.front())), std::string::npos) << words;
  });
}

TEST_F(memory_over_time_panel, limits_the_list_of_blocks_to_what_the_chosen_group_holds) {
  use([&](ImGuiTestContext& user) {
    open_panel(user);
    choose(user, "##by", "by line");
    user.MouseTeleportToPos({4, 4});
    user.Yield(3);
    settle(user);
    const metrics::memory_peak peak = shown();
    const auto groups =
        engine()
            .ask_now(query::memory_groups_query{app().state().active()->span, 400, query::memory_grouping::line,
                                                peak.layer, peak.device, peak.kind})
            .value();
    const auto rows = get_rows(user, "//Memory over time");
    ASSERT_EQ(rows.size(), groups->groups.size()) << "one row for each group";
    click_row(user, rows.back());
    settle(user);
    const gui::blocks_filter limited = app().find<gui::blocks_view>().filter();
    ASSERT_TRUE(limited.groups);
    EXPECT_EQ(limited.groups->keys, (std::vector<std::uint64_t>{groups->groups[0].key}));
    EXPECT_EQ(limited.group_words, groups->groups[0].label);
    query::blocks_query asked;
    asked.range = limited.range.value();
    asked.layer = limited.layer;
    asked.device = limited.device;
    asked.kind = limited.kind;
    asked.groups = limited.groups;
    const auto blocks = engine().ask_now(asked).value();
    EXPECT_EQ(blocks->total_bytes, groups->groups[0].at_peak);
    take_picture(user, "memory over time, a band chosen");
    EXPECT_NE(read(user).find("Show its blocks"), std::string::npos);
    app().invoke("panel.focus.Blocks");
    user.Yield(6);
    settle(user);
    EXPECT_EQ(app().find<gui::blocks_view>().count(), blocks->count);
    const std::string words = read(user);
    EXPECT_NE(words.find(format_some(blocks->count, "block") + ", " + format_bytes(blocks->total_bytes)),
              std::string::npos)
        << words;
    take_picture(user, "blocks of a band");
  });
}

TEST_F(memory_over_time_panel, follows_the_timeline_and_zooms_it) {
  use([&](ImGuiTestContext& user) {
    open_panel(user);
    const time_range before = app().state().active()->visible;
    const ImRect area = chart(user);
    user.MouseMoveToPos(area.GetCenter());
    user.MouseWheelY(2);
    user.Yield(4);
    settle(user);
    EXPECT_LT(app().state().active()->visible.length(), before.length());
  });
}

TEST_F(memory_over_time_panel, goes_to_an_allocation_that_failed) {
  testing::recording recorded;
  testing::write_history(recorded);
  recorded.close();
  use([&](ImGuiTestContext& user) {
    app().open(recorded.path());
    EXPECT_TRUE(wait_until(user, [&] { return app().state().active() != nullptr && app().state().ready(); }));
    user.Yield(8);
    settle(user);
    app().invoke("selection.clear");
    app().invoke("timeline.fit");
    app().invoke("memory_over_time.open");
    user.Yield(4);
    settle(user);
    ASSERT_EQ(app().state().selected().kind, gui::selection_kind::none);
    // The marks are above the chart.
    const ImRect area = chart(user);
    const auto report = engine().ask_now(query::report_query{}).value();
    ASSERT_FALSE(report->failures.empty());
    const auto done = [&] { return app().state().selected().kind == gui::selection_kind::event; };
    for (float x = area.Max.x - 8; x > area.Min.x && !done(); x -= 4) {
      user.MouseTeleportToPos({x, area.Min.y + 9});
      user.Yield(2);
      if (ImGui::GetMouseCursor() != ImGuiMouseCursor_Hand) continue;
      user.MouseClick(0);
      user.Yield(3);
      settle(user);
      if (done()) break;
      app().invoke("timeline.fit");  // The click was on the mark of the peak.
      user.Yield(3);
      settle(user);
    }
    ASSERT_TRUE(done());
    EXPECT_EQ(app().state().selected().id, trace::raw(report->failures.front().event));
    EXPECT_EQ(app().state().moment(), report->failures.front().time);
  });
}

}  // namespace
}  // namespace sluice::test