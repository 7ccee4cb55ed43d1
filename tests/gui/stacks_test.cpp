// The panel of stacks in a real window: its text, and zooming into a frame and out again.
#include <gtest/gtest.h>

#include "app/gui/window/format.hpp"
#include "core/base/format.hpp"
#include "tests/gui/window_fixture.hpp"

namespace sluice::test {
namespace {

using gui::selection_kind;

class stacks_panel : public window_test {
 protected:
  void open_panel(ImGuiTestContext& user) {
    open_sample(user);
    app().invoke("panel.focus.Stacks");
    user.Yield(4);
    settle(user);
  }
  /// Chooses an item of a combo box in a panel. `path`: "combo/item".
  static void choose(ImGuiTestContext& user, const char* panel, const char* path) {
    user.SetRef(panel);
    user.ComboClick(path);
    user.SetRef("");
  }
  /// A point in the vertical middle of row `row` of the chart; `share` is its horizontal position, from 0 to 1.
  static ImVec2 place_in(ImGuiTestContext& user, float share, int row) {
    const ImGuiTestItemInfo chart = user.ItemInfo("//Stacks/**/flames");
    return {chart.RectFull.Min.x + chart.RectFull.GetWidth() * share,
            chart.RectFull.Min.y + 20.0F * static_cast<float>(row) + 10};
  }
};

TEST_F(stacks_panel, shows_who_holds_the_memory_at_the_peak) {
  use([&](ImGuiTestContext& user) {
    open_panel(user);
    const auto asked = app().state().active()->engine->ask_now(
        query::stacks_query{{app().state().active()->span.begin, app().state().active()->span.end + 1}});
    ASSERT_TRUE(asked);
    const std::string words = read(user);
    EXPECT_NE(words.find("process"), std::string::npos) << words;
    EXPECT_NE(words.find(format_bytes((*asked)->tree.nodes[0].all.bytes)), std::string::npos) << words;
    EXPECT_NE(words.find(format_moment((*asked)->time)), std::string::npos);
    EXPECT_EQ(words.find("MemoryPool.malloc 1412"), std::string::npos) << "libraries are folded";
  });
}

TEST_F(stacks_panel, zooms_into_a_frame_and_goes_back_out) {
  use([&](ImGuiTestContext& user) {
    open_panel(user);
    user.MouseMoveToPos(place_in(user, 0.5F, 2));
    user.Yield(2);
    EXPECT_NE(read(user).find("share"), std::string::npos) << "the tooltip";
    user.MouseClick(0);
    user.Yield(3);
    ASSERT_EQ(app().state().selected().kind, selection_kind::frame);
    user.KeyPress(ImGuiMod_Alt | ImGuiKey_LeftArrow);
    user.Yield(3);
    EXPECT_EQ(app().state().selected().kind, selection_kind::none);
    user.KeyPress(ImGuiMod_Alt | ImGuiKey_RightArrow);
    user.Yield(3);
    EXPECT_EQ(app().state().selected().kind, selection_kind::frame);
    user.KeyPress(ImGuiKey_Escape);
    user.Yield(3);
    EXPECT_EQ(app().state().selected().kind, selection_kind::none);
  });
}

TEST_F(stacks_panel, finds_functions_and_says_how_much_they_hold) {
  use([&](ImGuiTestContext& user) {
    open_panel(user);
    user.ItemInput("//Stacks/##search");
    user.KeyChars("process");
    user.Yield(3);
    EXPECT_NE(read(user).find("found in 100 %"), std::string::npos);
    user.ItemInput("//Stacks/##search");
    user.KeyChars("nobody");
    user.Yield(3);
    EXPECT_NE(read(user).find("found in 0 %"), std::string::npos);
  });
}

TEST_F(stacks_panel, shows_the_stack_of_a_selected_block_in_its_details) {
  use([&](ImGuiTestContext& user) {
    open_sample(user);
    app().invoke("selection.set", gui::selection{gui::document_id::none, selection_kind::block, 3});
    app().invoke("panel.focus.Details");
    user.Yield(4);
    settle(user);
    const std::string words = read(user);
    EXPECT_NE(words.find("process"), std::string::npos) << words;
    EXPECT_NE(words.find("pipeline.py:41"), std::string::npos);
    EXPECT_NE(words.find("out = pool.get(CHUNK)"), std::string::npos);
  });
}

TEST_F(stacks_panel, groups_the_stacks_by_who_asked) {
  use([&](ImGuiTestContext& user) {
    open_panel(user);
    user.ItemClick("//Stacks/grouped");
    user.Yield(3);
    settle(user);
    EXPECT_NE(read(user).find("Group by: "), std::string::npos);
    choose(user, "//Stacks", "##by/package");
    user.Yield(3);
    settle(user);
    const std::string words = read(user);
    EXPECT_NE(words.find("Group by: package"), std::string::npos) << words;
    EXPECT_NE(words.find("the program"), std::string::npos) << words;
  });
}

TEST_F(stacks_panel, the_table_of_blocks_says_who_asked_too) {
  use([&](ImGuiTestContext& user) {
    open_sample(user);
    app().invoke("panel.focus.Blocks");
    user.Yield(4);
    settle(user);
    EXPECT_NE(read(user).find("Allocated by"), std::string::npos);
    choose(user, "//Blocks", "##by/your code line");
    user.Yield(3);
    settle(user);
    EXPECT_NE(read(user).find("pipeline.py:41, process"), std::string::npos) << read(user);
  });
}

TEST_F(stacks_panel, says_how_to_record_stacks_where_there_are_none) {
  use([&](ImGuiTestContext& user) {
    write_sample(path, false);
    open_panel(user);
    EXPECT_NE(read(user).find("Record with call stacks"), std::string::npos);
  });
}

}  // namespace
}  // namespace sluice::test
