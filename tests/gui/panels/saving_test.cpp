// Copying and saving content of the window, the context menus of boxes, and changing the scale of an open window.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "app/gui/views/blocks.hpp"
#include "app/gui/views/timeline/timeline.hpp"
#include "core/base/format.hpp"
#include "core/query/engine/engine.hpp"
#include "imgui_internal.h"
#include "tests/gui/sample.hpp"
#include "tests/gui/window_fixture.hpp"

namespace sluice::test {
namespace {

class panel_saving : public window_test {
 protected:
  static std::string make_content(const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static std::string clipboard() {
    const char* text = ImGui::GetClipboardText();
    return text == nullptr ? std::string() : std::string(text);
  }
  /// Enters a path in the dialog that asks for one.
  void type_path(ImGuiTestContext& user, const std::string& file) {
    user.Yield(3);
    user.ItemInput("//###path/##path_text");
    user.KeyCharsReplaceEnter(file.c_str());
    EXPECT_TRUE(wait_until(user, [&] { return std::filesystem::exists(file); })) << app().notice();
    settle(user);
  }
  /// The lower two bytes of a PNG's width or height, which its header stores in big-endian order.
  static int number_at(const std::string& png, std::size_t at) {
    return static_cast<unsigned char>(png.at(at + 2)) * 256 + static_cast<unsigned char>(png.at(at + 3));
  }
  static bool has(ImGuiTestContext& user, const char* entry) {
    return user.ItemExists((std::string("//$FOCUSED/") + entry).c_str());
  }

  void TearDown() override {
    window_test::TearDown();
    std::filesystem::remove(saved);
  }
  const std::string saved = std::filesystem::absolute(test::own_path("saved")).string();
};

TEST_F(panel_saving, saves_a_table_where_the_user_says) {
  use([&](ImGuiTestContext& user) {
    open_sample(user);
    app().invoke("table.save", gui::table_text{"Blocks", "bytes\n1\n"});
    user.Yield(3);
    EXPECT_NE(read(user).find("window-Blocks.csv"), std::string::npos) << "a name is proposed";
    type_path(user, saved);
    EXPECT_EQ(make_content(saved), "bytes\n1\n");
  });
}

TEST_F(panel_saving, saves_and_copies_by_the_menu_what_a_row_was_clicked_in) {
  use([&](ImGuiTestContext& user) {
    open_sample(user);
    app().invoke("panel.focus.Blocks");
    user.Yield(4);
    settle(user);
    const ImGuiWindow* panel = ImGui::FindWindowByName("Blocks");
    const auto click_row = [&] {
      user.MouseMoveToPos({panel->WorkRect.Max.x - 60, panel->WorkRect.Max.y - 60});
      user.MouseClick(0);
      user.Yield(4);
      settle(user);
    };
    click_row();
    ImGui::SetClipboardText("");
    user.MenuClick("//##MainMenuBar/Edit/Copy");
    user.Yield(4);
    EXPECT_NE(clipboard(), "") << "the menu has the focus while it is open";
    user.MenuClick("//##MainMenuBar/File/Save table as CSV...");
    type_path(user, saved);
    EXPECT_EQ(make_content(saved).find("bytes,"), 0U) << make_content(saved);
    EXPECT_EQ(app().notice(), "");
    std::filesystem::remove(saved);

    click_row();
    user.KeyPress(ImGuiMod_Ctrl | ImGuiKey_P);
    user.Yield(3);
    user.KeyCharsReplaceEnter("save table");
    type_path(user, saved);
    EXPECT_EQ(make_content(saved).find("bytes,"), 0U);
    user.Yield(4);
    EXPECT_EQ(app().notice(), "") << "reading all rows takes some frames, which is not an error";
  });
}

TEST_F(panel_saving, saves_the_table_of_the_panel_in_front_where_no_row_was_clicked) {
  use([&](ImGuiTestContext& user) {
    open_sample(user);
    app().invoke("panel.focus.Statistics");
    user.Yield(4);
    settle(user);
    user.MenuClick("//##MainMenuBar/File/Save table as CSV...");
    type_path(user, saved);
    EXPECT_NE(make_content(saved), "");
    EXPECT_EQ(app().notice(), "");
  });
}

TEST_F(panel_saving, says_why_a_table_is_not_saved) {
  use([&](ImGuiTestContext& user) {
    open_sample(user);
    app().invoke("table.save", gui::table_text{"Blocks", "bytes\n"});
    user.Yield(3);
    app().invoke("table.save_as", std::string("/no/such/folder/x.csv"));
    EXPECT_TRUE(wait_until(user, [&] { return !app().notice().empty(); }));
    EXPECT_NE(app().notice().find("/no/such/folder/x.csv"), std::string::npos) << app().notice();
  });
}

class panel_picture : public panel_saving {
 protected:
  panel_picture() { draws_pixels = true; }
};

TEST_F(panel_picture, is_saved_of_one_panel) {
  use([&](ImGuiTestContext& user) {
    open_sample(user);
    app().invoke("panel.focus.Statistics");
    user.Yield(4);
    settle(user);
    app().invoke("panel.save_picture", std::string("Statistics"));
    type_path(user, saved);
    EXPECT_EQ(app().notices().reported(), "Saved " + saved);
    const std::string png = make_content(saved);
    ASSERT_GT(png.size(), 100U);
    const ImGuiWindow* panel = ImGui::FindWindowByName("Statistics");
    EXPECT_NEAR(number_at(png, 16), panel->Rect().GetWidth(), 1);
    EXPECT_NEAR(number_at(png, 20), panel->Rect().GetHeight(), 1);
  });
}

TEST_F(panel_saving, copies_a_panel_as_text_from_the_menu_of_its_tab) {
  use([&](ImGuiTestContext& user) {
    open_sample(user);
    app().invoke("panel.focus.Statistics");
    user.Yield(4);
    settle(user);
    const ImGuiWindow* panel = ImGui::FindWindowByName("Statistics");
    user.MouseMoveToPos(panel->DC.DockTabItemRect.GetCenter());
    user.MouseClick(1);
    user.Yield(3);
    ASSERT_TRUE(has(user, "Copy panel as text"));
    user.ItemClick("//$FOCUSED/Copy panel as text");
    user.Yield(4);
    const auto whole = app().state().active()->engine->ask_now(query::report_query{}).value();
    EXPECT_NE(clipboard().find("Memory use"), std::string::npos) << clipboard();
    for (const auto& each : whole->whole.memory)
      EXPECT_NE(clipboard().find(format_bytes(each.maximum)), std::string::npos) << clipboard();
  });
}

TEST_F(panel_saving, a_box_of_the_timeline_has_a_menu) {
  use([&](ImGuiTestContext& user) {
    open_sample(user);
    // Moves the mouse down the tracks, at the middle of a copy, until it is on the copy's box.
    const ImVec2 top = get_place(5'150'000, 0);
    const float bottom = app().find<gui::timeline_view>().axis_area().max.y;
    bool found = false;
    for (float y = top.y + 8; y < bottom && !found; y += 8) {
      user.MouseMoveToPos({top.x, y});
      user.MouseClick(1);
      user.Yield(3);
      found = has(user, "Next event with the same name");
      if (!found) user.PopupCloseAll();
    }
    ASSERT_TRUE(found);
    ASSERT_EQ(app().state().selected().kind, gui::selection_kind::event) << "the menu is about the selection";
    const auto event = static_cast<trace::event_id>(app().state().selected().id);
    EXPECT_TRUE(has(user, "Zoom to its time"));
    take_picture(user, "menu of a box");
    user.ItemClick("//$FOCUSED/Copy as text");
    user.Yield(3);
    const auto about =
        app().state().active()->engine->ask_now(query::details_query{event, trace::block_id::none}).value();
    EXPECT_NE(clipboard().find(format_time(about->span.length())), std::string::npos) << clipboard();

    // Opens the same menu by keyboard, for the selected event.
    user.MouseMoveToPos({top.x, bottom - 2});
    app().invoke("selection.set",
                 gui::selection{app().state().active()->id, gui::selection_kind::event, trace::raw(event)});
    user.WindowFocus("//Timeline");
    user.Yield(2);
    user.KeyPress(ImGuiMod_Shift | ImGuiKey_F10);
    user.Yield(3);
    EXPECT_TRUE(has(user, "Next event with the same name"));
  });
}

TEST_F(panel_saving, long_tables_are_copied_whole_and_keys_scroll_them) {
  use([&](ImGuiTestContext& user) {
    app().open(SLUICE_SOURCE_DIR "/assets/recordings/pytorch-training.sluice");
    EXPECT_TRUE(wait_until(user, [&] { return app().state().ready(); }));
    user.Yield(6);
    app().invoke("panel.focus.Blocks");
    user.Yield(4);
    settle(user);
    const gui::blocks_view& blocks = app().find<gui::blocks_view>();
    ASSERT_GT(blocks.count(), query::block_table::first_rows) << "more rows than are requested at first";
    const trace::block_id first = blocks.blocks_on_screen().front();
    const std::size_t shown = blocks.blocks_on_screen().size();
    user.ItemClick("//Blocks/**/##row");
    user.Yield(2);
    for (std::size_t i = 0; i < shown + 2; ++i) {
      user.KeyPress(ImGuiKey_DownArrow);
      user.Yield(3);
    }
    const auto& now = blocks.blocks_on_screen();
    EXPECT_EQ(std::find(now.begin(), now.end(), first), now.end()) << "scrolled past the first row";
    user.KeyPress(ImGuiMod_Ctrl | ImGuiKey_C);
    user.Yield(3);
    EXPECT_FALSE(clipboard().empty()) << "the row that the keys reached";

    user.KeyPress(ImGuiKey_Menu);
    user.Yield(3);
    user.ItemClick("//$FOCUSED/Copy table as CSV");
    user.Yield(3);
    settle(user);
    const std::string csv = clipboard();
    EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), static_cast<std::ptrdiff_t>(blocks.count() + 1));
  });
}

TEST_F(panel_saving, a_block_of_the_memory_map_has_a_menu) {
  use([&](ImGuiTestContext& user) {
    open_sample(user);
    app().invoke("moment.set", time_range{18'130'000, 18'130'000});
    app().invoke("map.open");
    user.Yield(6);
    settle(user);
    const ImRect area = ImGui::FindWindowByName("Memory map")->InnerRect;
    bool found = false;
    for (float y = area.GetCenter().y; y < area.Max.y && !found; y += 6)
      for (float x = area.Min.x + area.GetWidth() * 0.3F; x < area.Max.x && !found; x += area.GetWidth() * 0.2F) {
        user.MouseMoveToPos({x, y});
        user.MouseClick(1);
        user.Yield(2);
        found = has(user, "Show in Details");
        if (!found) user.PopupCloseAll();
      }
    ASSERT_TRUE(found);
    take_picture(user, "menu of a block");
    EXPECT_EQ(app().state().selected().kind, gui::selection_kind::block);
    user.ItemClick("//$FOCUSED/List blocks at this moment");
    user.Yield(4);
    settle(user);
    EXPECT_EQ(app().find<gui::blocks_view>().filter().range, (time_range{18'130'000, 18'130'001}));
  });
}

TEST_F(panel_saving, follows_another_scale_while_it_is_open) {
  use([&](ImGuiTestContext& user) {
    open_sample(user);
    app().invoke("panel.focus.Statistics");
    user.Yield(4);
    settle(user);
    const float before = ImGui::GetFontSize();
    const auto row_height = [&] {
      ImGuiTestItemList items;
      user.GatherItems(&items, "//Statistics", 20);
      for (const ImGuiTestItemInfo& each : items)
        if (std::string_view(each.DebugLabel) == "##row") return each.RectFull.GetHeight();
      return 0.0F;
    };
    const float row = row_height();
    ASSERT_GT(row, 0);
    app().set_scale(2);  // As the callbacks of the desktop window do.
    user.Yield(4);
    settle(user);
    EXPECT_NEAR(ImGui::GetFontSize(), before * 2, 0.5F);
    EXPECT_NEAR(row_height(), row * 2, 3);
    EXPECT_NE(read(user).find("256 MiB"), std::string::npos) << "the panel is still there";
    app().invoke("panel.focus.Blocks");
    user.Yield(4);
    settle(user);
    take_picture(user, "scale 2");
    EXPECT_TRUE(user.ItemExists("//Blocks/**/##row")) << "the filters of a low panel leave space for rows";
    user.ItemClick("//Blocks/###filters");
    user.Yield(3);
    EXPECT_TRUE(user.ItemExists("//$FOCUSED/never freed"));
    user.PopupCloseAll();
    app().invoke("panel.focus.Statistics");
    app().set_scale(1);
    user.Yield(4);
    settle(user);
    EXPECT_NEAR(ImGui::GetFontSize(), before, 0.5F);
    EXPECT_NEAR(row_height(), row, 1);
  });
}

}  // namespace
}  // namespace sluice::test
