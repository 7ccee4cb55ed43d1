// The window as users see it: a real GLFW window under Xvfb, with mouse and keys from imgui_test_engine.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "app/gui/views/blocks.hpp"
#include "app/gui/views/timeline/timeline.hpp"
#include "app/gui/window/glossary.hpp"
#include "core/base/format.hpp"
#include "imgui_internal.h"
#include "tests/gui/sample.hpp"
#include "tests/gui/window_fixture.hpp"

namespace sluice::test {
namespace {

using gui::selection_kind;

TEST_F(window_test, opens_a_recording_and_shows_all_of_its_active_time_on_request) {
  use([&](ImGuiTestContext& user) {
    open_sample(user);
    const gui::document* shown = app().state().active();
    EXPECT_TRUE(wait_until(user, [&] { return shown->active.length() < shown->span.length(); }));
    EXPECT_EQ(shown->visible, shown->opening);
    app().invoke("timeline.show_active");
    user.Yield(2);
    settle(user);
    EXPECT_LT(shown->visible.begin, shown->active.begin);
    EXPECT_GT(shown->visible.end, shown->active.end);
    EXPECT_LT(shown->visible.length(), shown->active.length() * 6 / 5) << "with a small margin";
    EXPECT_NE(read(user).find("NVIDIA H200"), std::string::npos);
  });
}

TEST_F(window_test, says_why_a_file_cannot_be_opened) {
  use([&](ImGuiTestContext& user) {
    app().open("/no/such/file.sluice");
    EXPECT_TRUE(wait_until(user, [&] { return !app().notice().empty(); }));
    EXPECT_NE(app().notice().find("/no/such/file.sluice"), std::string::npos);
    EXPECT_NE(read(user).find("/no/such/file.sluice"), std::string::npos);
  });
}

TEST_F(window_test, zooms_at_the_cursor_with_the_wheel) {
  use([&](ImGuiTestContext& user) {
    open_sample(user);
    const time_ns about = 10'000'000;
    user.MouseMoveToPos(get_place(about, 60));
    const time_ns before = app().state().active()->visible.length();
    user.MouseWheelY(4);
    settle(user);
    const time_range visible = app().state().active()->visible;
    EXPECT_LT(visible.length(), before * 6 / 10);
    // The time under the cursor stays there, within a few pixels.
    const float x = user.UiContext->IO.MousePos.x;
    EXPECT_NEAR(get_place(about, 0).x, x, 3);
    user.MouseWheelY(-12);
    settle(user);
    EXPECT_GE(app().state().active()->visible.length(), before * 99 / 100);
  });
}

TEST_F(window_test, pans_and_zooms_with_the_keyboard) {
  use([&](ImGuiTestContext& user) {
    open_sample(user);
    app().invoke("timeline.show", time_range{10'000'000, 12'000'000});
    user.Yield(2);
    user.KeyPress(ImGuiKey_D);
    user.Yield(2);
    EXPECT_GT(app().state().active()->visible.begin, 10'000'000);
    user.KeyPress(ImGuiKey_A);
    user.Yield(2);
    EXPECT_NEAR(static_cast<double>(app().state().active()->visible.begin), 10e6, 2e3);
    user.KeyPress(ImGuiKey_W);
    user.Yield(2);
    EXPECT_LT(app().state().active()->visible.length(), 1'500'000);
    user.KeyPress(ImGuiKey_S);
    user.Yield(2);
    EXPECT_NEAR(static_cast<double>(app().state().active()->visible.length()), 2e6, 2e4);
    user.KeyPress(ImGuiKey_F);
    user.Yield(2);
    EXPECT_GE(app().state().active()->visible.length(), app().state().active()->span.length());
  });
}

TEST_F(window_test, letters_typed_into_a_field_do_not_move_the_timeline) {
  use([&](ImGuiTestContext& user) {
    open_sample(user);
    const time_range before = app().state().active()->visible;
    user.ItemInput("//Blocks/##filter");
    user.KeyChars("wasd");
    settle(user);
    EXPECT_EQ(app().state().active()->visible, before);
    EXPECT_NE(read(user).find("No blocks match"), std::string::npos);
  });
}

TEST_F(window_test, selects_a_range_by_dragging_and_shows_its_metrics) {
  use([&](ImGuiTestContext& user) {
    open_sample(user);
    user.MouseMoveToPos(get_place(5'000'000, 60));
    user.MouseDown(0);
    user.MouseMoveToPos(get_place(9'000'000, 60));
    user.MouseUp(0);
    user.Yield(2);
    const auto range = app().state().range();
    ASSERT_TRUE(range.has_value());
    EXPECT_NEAR(static_cast<double>(range->begin), 5e6, 5e4);
    EXPECT_NEAR(static_cast<double>(range->end), 9e6, 5e4);

    app().invoke("panel.focus.Statistics");
    user.Yield(3);
    settle(user);
    const std::string words = read(user);
    // The expected result: the same query, sent directly to the engine.
    const auto asked = app().state().active()->engine->ask_now(query::statistics_query{*range});
    ASSERT_TRUE(asked);
    const metrics::range_statistics& metrics = **asked;
    ASSERT_EQ(metrics.transfers.size(), 2U);
    for (const auto& way : metrics.transfers) {
      EXPECT_NE(words.find(format_bytes(way.bytes) + " in " + format_some(way.count, "transfer")), std::string::npos)
          << words;
      EXPECT_NE(words.find(format_rate(way.mean_bandwidth) + ", " + format_share(way.mean_bandwidth / way.link_peak)),
                std::string::npos);
    }
    for (const auto& memory : metrics.memory) EXPECT_NE(words.find(format_bytes(memory.maximum)), std::string::npos);
    ASSERT_EQ(metrics.devices.size(), 1U);
    EXPECT_NE(words.find(format_time(metrics.devices[0].kernel_busy)), std::string::npos);
    for (const auto& kernel : metrics.kernels) EXPECT_NE(words.find(format_time(kernel.total)), std::string::npos);

    user.KeyPress(ImGuiKey_Escape);
    user.Yield(2);
    EXPECT_FALSE(app().state().range().has_value());
  });
}

TEST_F(window_test, shows_the_summary_that_the_report_prints) {
  use([&](ImGuiTestContext& user) {
    open_sample(user);
    user.ItemOpenAll("//Summary");
    const std::string words = read(user);
    const auto asked = app().state().active()->engine->ask_now(query::report_query{});
    ASSERT_TRUE(asked);
    const metrics::report& whole_report = **asked;
    EXPECT_NE(words.find(format_count(whole_report.events)), std::string::npos);
    ASSERT_FALSE(whole_report.peaks.empty());
    for (const auto& peak : whole_report.peaks) {
      EXPECT_NE(words.find(format_bytes(peak.bytes)), std::string::npos);
      EXPECT_NE(words.find("at " + format_moment(peak.time)), std::string::npos);
    }
    for (const auto& finding : whole_report.findings)
      EXPECT_NE(words.find(finding.text.substr(0, 30)), std::string::npos) << finding.text;
  });
}

TEST_F(window_test, selects_a_copy_by_clicking_it) {
  use([&](ImGuiTestContext& user) {
    open_sample(user);
    app().invoke("timeline.show", time_range{5'000'000, 5'400'000});
    user.Yield(2);
    settle(user);
    // Moves the mouse down the tracks, below the memory, until it is on a box in the row of copies to the device.
    for (float down = 240; down < app().find<gui::timeline_view>().axis_area().height() - 10; down += 8) {
      user.MouseMoveToPos(get_place(5'150'000, down));
      user.MouseClick(0);
      user.Yield(2);
      if (app().state().selected().kind == selection_kind::event) break;
    }
    ASSERT_EQ(app().state().selected().kind, selection_kind::event);
    app().invoke("panel.focus.Details");
    user.Yield(3);
    settle(user);
    const query::details_query query{static_cast<trace::event_id>(app().state().selected().id), {}};
    const auto asked = app().state().active()->engine->ask_now(query);
    ASSERT_TRUE(asked);
    const std::string words = read(user);
    EXPECT_NE(words.find((*asked)->title), std::string::npos);
    for (const auto& detail : (*asked)->details) EXPECT_NE(words.find(detail.value), std::string::npos) << detail.label;

    user.KeyPress(ImGuiMod_Alt | ImGuiKey_LeftArrow);
    user.Yield(2);
    EXPECT_EQ(app().state().selected().kind, selection_kind::none);
  });
}

TEST_F(window_test, selects_a_block_in_the_table_and_shows_when_it_lived) {
  use([&](ImGuiTestContext& user) {
    open_sample(user);
    const gui::blocks_view& list = app().find<gui::blocks_view>();
    EXPECT_EQ(list.filter().layer, trace::layer::pool) << "the innermost layer, where each size occurs once";
    const auto asked = app().state().active()->engine->ask_now(query::blocks_query{
        app().state().active()->span, list.filter().layer, false, query::block_column::bytes, true, ""});
    ASSERT_TRUE(asked);
    const query::block_row& largest = (*asked)->rows.at(0);
    const std::string words = read(user);
    EXPECT_NE(words.find(format_address(largest.address)), std::string::npos);
    EXPECT_NE(words.find(format_some((*asked)->rows.size(), "block")), std::string::npos);
    EXPECT_NE(words.find(format_some((*asked)->count, "block") + ", " + format_bytes((*asked)->total_bytes)),
              std::string::npos)
        << "the sum is below";
    user.ItemClick("//Blocks/**/##row");
    user.Yield(2);
    EXPECT_EQ(app().state().selected().kind, selection_kind::block);
    EXPECT_EQ(app().state().selected().id, trace::raw(largest.block));
  });
}

TEST_F(window_test, finds_a_command_in_the_palette) {
  use([&](ImGuiTestContext& user) {
    open_sample(user);
    app().invoke("timeline.show", time_range{5'000'000, 5'400'000});
    user.Yield(2);
    user.KeyPress(ImGuiMod_Ctrl | ImGuiKey_P);
    user.Yield(3);
    user.KeyChars("show all");
    user.Yield(2);
    user.KeyPress(ImGuiKey_Enter);
    user.Yield(3);
    EXPECT_GE(app().state().active()->visible.length(), app().state().active()->span.length());
  });
}

TEST_F(window_test, offers_every_titled_command_in_a_menu) {
  use([&](ImGuiTestContext& user) {
    open_sample(user);
    user.MenuClick("//##MainMenuBar/View/Light theme");
    user.Yield(3);
    EXPECT_EQ(app().colours().kind, gui::theme_kind::light);
    user.MenuClick("//##MainMenuBar/View/Light theme");
    user.Yield(3);
    EXPECT_EQ(app().colours().kind, gui::theme_kind::dark);
    user.MenuClick("//##MainMenuBar/File/Close");
    user.Yield(3);
    EXPECT_EQ(app().state().active(), nullptr);
  });
}

TEST_F(window_test, runs_a_demo_live_and_stops_it) {
  use([&](ImGuiTestContext& user) {
    user.MenuClick("//##MainMenuBar/Demo/endless");
    EXPECT_TRUE(wait_until(user, [&] { return app().recorder().running(); }));
    EXPECT_TRUE(wait_until(user, [&] { return app().state().active() != nullptr && app().state().active()->ready(); }));
    // The recording grows while it is shown, with its progress.
    const time_ns first = app().state().active()->span.end;
    EXPECT_TRUE(wait_until(user, [&] { return app().state().active()->span.end > first + 100'000'000; }));
    EXPECT_TRUE(wait_until(user, [&] { return app().demo_progress() > 0.005; }));
    EXPECT_LT(app().demo_progress(), 0.9);
    EXPECT_TRUE(app().live());
    EXPECT_GE(app().state().active()->visible.end, first) << "the view follows";
    EXPECT_NE(read(user).find("simulated device"), std::string::npos);

    user.ItemClick("//##toolbar/###record.stop");
    EXPECT_TRUE(wait_until(user, [&] { return !app().recorder().running(); }));
    EXPECT_EQ(app().recorder().exit_status(), 0) << "the demo closed its recording";
    EXPECT_TRUE(wait_until(user, [&] { return !app().live(); }));
    EXPECT_TRUE(app().state().active()->engine->snapshot()->complete());
    EXPECT_TRUE(app().notice().empty()) << app().notice();
  });
}

TEST_F(window_test, sees_a_demo_to_its_end) {
  use([&](ImGuiTestContext& user) {
    app().start_demo("quick");
    EXPECT_TRUE(wait_until(user, [&] { return !app().recorder().running(); }));
    EXPECT_TRUE(wait_until(user, [&] { return app().state().active() != nullptr && app().demo_progress() >= 1; }));
    EXPECT_TRUE(wait_until(user, [&] { return !app().live(); }));
    const std::string scratch = app().recorder().recording();
    EXPECT_TRUE(std::filesystem::exists(scratch));
    app().invoke("file.close");
    user.Yield(3);
    EXPECT_TRUE(std::filesystem::exists(scratch)) << "the window asks first";
    user.ItemClick("//Close/Discard");
    user.Yield(3);
    EXPECT_EQ(app().state().active(), nullptr);
    EXPECT_FALSE(std::filesystem::exists(scratch)) << "the demo's scratch file is deleted with it";
  });
}

TEST_F(window_test, says_why_a_demo_failed) {
  use([&](ImGuiTestContext& user) {
    app().start_demo("broken");
    EXPECT_TRUE(wait_until(user, [&] { return !app().notice().empty(); }));
    EXPECT_NE(app().notice().find("the device caught fire"), std::string::npos) << app().notice();
  });
}

class remembering_window : public window_test {
 protected:
  void SetUp() override {
    config_folder = own_path("window-settings");
    gui::settings earlier(config_folder);
    earlier.memory_by_category = false;
    earlier.save();
    window_test::SetUp();
  }
  void TearDown() override {
    window_test::TearDown();
    std::filesystem::remove_all(config_folder);
  }
};

TEST_F(remembering_window, colours_memory_as_last_time) {
  use([&](ImGuiTestContext& user) {
    open_sample(user);
    EXPECT_FALSE(app().state().memory_by_category);
    app().invoke("timeline.by_category");
    user.Yield(2);
    EXPECT_TRUE(gui::settings(config_folder).memory_by_category);
    app().invoke("timeline.by_category");
    user.Yield(2);
    EXPECT_FALSE(gui::settings(config_folder).memory_by_category);
  });
}

TEST_F(remembering_window, opens_what_was_open_last_as_it_was) {
  use([&](ImGuiTestContext& user) {
    app().remembered().last_session = {{path, 10'000'000, 12'000'000}};
    user.Yield(2);
    EXPECT_NE(read(user).find("Reopen last session"), std::string::npos);
    app().invoke("file.restore");
    EXPECT_TRUE(wait_until(user, [&] { return app().state().ready(); }));
    user.Yield(4);
    settle(user);
    EXPECT_EQ(app().state().active()->visible, (time_range{10'000'000, 12'000'000}));
  });
}

TEST_F(remembering_window, keeps_the_keys_that_the_user_chose) {
  use([&](ImGuiTestContext& user) {
    open_sample(user);
    app().invoke("help.keys");
    user.Yield(3);
    user.ItemClick(ImHashStr("F", 0, user.GetID("//Keyboard and mouse/timeline.fit")));
    user.Yield(2);
    user.KeyPress(ImGuiMod_Ctrl | ImGuiKey_J);
    user.Yield(3);
    EXPECT_EQ(gui::key_text(*app().commands().find("timeline.fit")), "Ctrl+J");
    EXPECT_EQ(gui::settings(config_folder).keys.at("timeline.fit"), "Ctrl+J");
    app().invoke("help.keys");
    app().invoke("timeline.show", time_range{10'000'000, 12'000'000});
    user.Yield(3);
    user.KeyPress(ImGuiKey_F);
    user.Yield(3);
    EXPECT_EQ(app().state().active()->visible, (time_range{10'000'000, 12'000'000})) << "the key is no longer bound";
    user.KeyPress(ImGuiMod_Ctrl | ImGuiKey_J);
    user.Yield(3);
    EXPECT_GE(app().state().active()->visible.length(), app().state().active()->span.length());
  });
}

TEST_F(remembering_window, brings_the_same_tabs_to_the_front_at_the_next_start) {
  use([&](ImGuiTestContext& user) {
    open_sample(user);
    app().invoke("panel.focus.Stacks");
    app().invoke("panel.focus.Statistics");
    user.Yield(6);
  });
  window_test::TearDown();
  window_test::SetUp();
  use([&](ImGuiTestContext& user) {
    open_sample(user);
    user.Yield(6);
    EXPECT_TRUE(ImGui::FindWindowByName("Stacks")->DockTabIsVisible);
    EXPECT_TRUE(ImGui::FindWindowByName("Statistics")->DockTabIsVisible);
  });
}

TEST_F(window_test, explains_its_words) {
  use([&](ImGuiTestContext& user) {
    app().invoke("help.words");
    user.Yield(3);
    const std::string words = read(user);
    for (const gui::term& each : gui::all_terms())
      EXPECT_NE(words.find(each.explanation), std::string::npos) << each.name;
    user.KeyPress(ImGuiKey_Escape);
    user.Yield(3);
    EXPECT_EQ(read(user).find(gui::all_terms()[0].explanation), std::string::npos);
  });
}

class window_picture : public window_test {
 protected:
  window_picture() { draws_pixels = true; }
};

TEST_F(window_picture, is_saved) {
  use([&](ImGuiTestContext& user) {
    open_sample(user);
    const std::string file = own_path("picture.png");
    app().invoke("file.save_picture", file);
    user.Yield(4);
    EXPECT_GT(std::filesystem::file_size(file), 10'000U);
    std::filesystem::remove(file);
    app().invoke("file.save_picture", std::string("/no/such/folder/picture.png"));
    user.Yield(4);
    EXPECT_NE(app().notice().find("/no/such/folder"), std::string::npos) << app().notice();
  });
}

TEST_F(window_test, escape_closes_what_lies_on_top_before_it_clears_the_selection) {
  use([&](ImGuiTestContext& user) {
    open_sample(user);
    app().invoke("selection.range", time_range{5'000'000, 9'000'000});
    app().invoke("help.keys");
    user.Yield(3);
    app().invoke("window.palette");
    user.Yield(3);
    EXPECT_TRUE(user.ItemExists("//##palette/##find"));
    user.KeyPress(ImGuiKey_Escape);
    user.Yield(3);
    EXPECT_FALSE(ImGui::FindWindowByName("##palette")->Active);
    EXPECT_NE(read(user).find("Mouse on the timeline"), std::string::npos) << "only one overlay is open";
    user.KeyPress(ImGuiKey_Escape);
    user.Yield(3);
    EXPECT_EQ(read(user).find("Mouse on the timeline"), std::string::npos);
    EXPECT_TRUE(app().state().range().has_value());
    user.ItemClick("//Blocks/##layer");  // The combo box opens its own menu.
    user.KeyPress(ImGuiKey_Escape);
    user.Yield(3);
    EXPECT_TRUE(app().state().range().has_value());
    user.KeyPress(ImGuiKey_Escape);
    user.Yield(3);
    EXPECT_FALSE(app().state().range().has_value());
  });
}

TEST_F(window_test, arrows_move_the_timeline_after_a_click_on_it) {
  use([&](ImGuiTestContext& user) {
    open_sample(user);
    app().invoke("timeline.show", time_range{10'000'000, 12'000'000});
    user.Yield(2);
    user.MouseMoveToPos(get_place(11'000'000, 60));
    user.MouseClick(0);
    user.KeyPress(ImGuiKey_RightArrow);
    user.Yield(3);
    EXPECT_GT(app().state().active()->visible.begin, 10'000'000);
    user.KeyPress(ImGuiKey_LeftArrow);
    user.Yield(3);
    EXPECT_NEAR(static_cast<double>(app().state().active()->visible.begin), 10e6, 2e3);
  });
}

TEST_F(window_test, arranges_its_panels_for_a_purpose) {
  use([&](ImGuiTestContext& user) {
    open_sample(user);
    const auto height = [] { return ImGui::FindWindowByName("Blocks")->DockNode->Size.y; };
    const auto is_front = [](const char* panel) { return ImGui::FindWindowByName(panel)->DockTabIsVisible; };
    const float before = height();
    app().invoke("layout.timeline");
    user.Yield(12);
    EXPECT_LT(height(), before * 0.8F);
    EXPECT_TRUE(is_front("Search"));
    EXPECT_TRUE(is_front("Details"));
    app().invoke("window.reset_layout");
    user.Yield(12);
    EXPECT_NEAR(height(), before, 12);
    EXPECT_TRUE(is_front("Blocks"));
    EXPECT_TRUE(is_front("Summary"));
  });
}

TEST_F(window_test, maximizes_a_panel_on_a_double_click_on_its_tab) {
  use([&](ImGuiTestContext& user) {
    open_sample(user);
    const auto is_drawn = [](const char* panel) { return ImGui::FindWindowByName(panel)->Active; };
    const ImRect tab = ImGui::FindWindowByName("Stacks")->DC.DockTabItemRect;
    user.MouseMoveToPos(tab.GetCenter());
    user.MouseDoubleClick(0);
    user.Yield(3);
    EXPECT_FALSE(is_drawn("Timeline"));
    EXPECT_NE(read(user).find("Restore"), std::string::npos);
    user.MouseMoveToPos({600, ImGui::FindWindowByName("##base")->Pos.y + 10});
    user.MouseDoubleClick(0);
    user.Yield(3);
    EXPECT_TRUE(is_drawn("Timeline"));
    EXPECT_TRUE(ImGui::FindWindowByName("Stacks")->DockTabIsVisible) << "the panel is where it was";
    app().invoke("panel.maximize");
    user.Yield(3);
    EXPECT_FALSE(is_drawn("Summary"));
    app().invoke("panel.focus.Summary");
    user.Yield(8);
    EXPECT_TRUE(is_drawn("Timeline")) << "showing another panel restores all";
    EXPECT_TRUE(is_drawn("Summary"));
  });
}

TEST_F(window_test, says_the_verdict_above_all_panels) {
  use([&](ImGuiTestContext& user) {
    open_sample(user);
    settle(user);
    const auto report = *app().state().active()->engine->ask_now(query::report_query{});
    EXPECT_NE(read(user).find(report->verdict.headline), std::string::npos);
  });
}

TEST_F(window_test, chooses_a_file_by_its_path) {
  use([&](ImGuiTestContext& user) {
    app().invoke("file.type_path");
    user.Yield(3);
    user.ItemInput("//###path/##path_text");
    const std::filesystem::path whole = std::filesystem::absolute(path);
    user.KeyCharsReplace((whole.parent_path() / whole.stem()).c_str());
    EXPECT_TRUE(wait_until(user, [&] { return read(user).find(whole.filename().string()) != std::string::npos; }))
        << "lists the files that begin with this";
    user.KeyCharsAppend(".sluice");
    user.KeyPress(ImGuiKey_Enter);
    EXPECT_TRUE(wait_until(user, [&] { return app().state().ready(); }));
    EXPECT_EQ(read(user).find("Path of a recording"), std::string::npos);
  });
}

TEST_F(window_test, marks_the_tab_of_messages_for_warnings_alone) {
  use([&](ImGuiTestContext& user) {
    open_sample(user);
    EXPECT_TRUE(wait_until(user, [&] { return app().panels().warns("Messages"); })) << "the sample has a warning";
    app().open(SLUICE_SOURCE_DIR "/assets/recordings/overlap.sluice");
    EXPECT_TRUE(wait_until(user, [&] { return app().state().active()->title == "overlap.sluice"; }));
    user.Yield(4);
    settle(user);
    EXPECT_FALSE(app().panels().warns("Messages"));
  });
}

TEST_F(window_test, has_nothing_to_do_when_nothing_changes) {
  use([&](ImGuiTestContext& user) {
    open_sample(user);
    settle(user);
    EXPECT_FALSE(app().busy());
    EXPECT_FALSE(app().animating());
    EXPECT_FALSE(app().live()) << "a closed recording needs no updates";
  });
}

}  // namespace
}  // namespace sluice::test
