// Every link in the summary and details of a bundled recording leads to something that is then visible on the screen.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "app/gui/views/blocks.hpp"
#include "app/gui/views/timeline/timeline.hpp"
#include "imgui_internal.h"
#include "tests/gui/window_fixture.hpp"

namespace sluice::test {
namespace {

using gui::selection_kind;

class links : public window_test {
 protected:
  void open_recording(ImGuiTestContext& user, const std::string& name) {
    app().open(SLUICE_SOURCE_DIR "/assets/recordings/" + name);
    EXPECT_TRUE(wait_until(user, [&] { return app().state().active() != nullptr && app().state().ready(); }));
    user.Yield(8);
    settle(user);
  }

  [[nodiscard]] static bool is(const ImGuiTestItemInfo& item, const char* label) {
    return item.ID == ImHashStr(label, 0, item.ParentID);
  }

  struct found_link {
    ImGuiTestItemInfo item;
    float scroll = 0;  ///< The panel's scroll position at which the link is visible.
  };

  static void scroll_to(ImGuiTestContext& user, const char* panel, float scroll) {
    ImGui::SetScrollY(ImGui::FindWindowByName(panel), scroll);
    user.Yield(2);
  }

  /// The links and lines of amounts in a panel, top to bottom, without those that are scrolled out of view.
  static std::vector<found_link> links_in(ImGuiTestContext& user, const char* panel) {
    std::vector<found_link> found;
    std::set<ImGuiID> seen;
    const ImGuiWindow* window = ImGui::FindWindowByName(panel);
    for (float scroll = 0; seen.empty() || scroll < window->ScrollMax.y + window->InnerRect.GetHeight();
         scroll += window->InnerRect.GetHeight() / 2) {
      scroll_to(user, panel, std::min(scroll, window->ScrollMax.y));
      ImGuiTestItemList items;
      user.GatherItems(&items, (std::string("//") + panel).c_str(), -1);
      // The views are built without the test engine, so items that they draw themselves have no label.
      for (const ImGuiTestItemInfo& each : items) {
        const auto& windows = ImGui::GetCurrentContext()->Windows;
        const bool is_window =
            std::any_of(windows.begin(), windows.end(), [&](const ImGuiWindow* w) { return w->ChildId == each.ID; });
        const std::string_view label(each.DebugLabel);
        const bool is_link =
            !is_window && !is(each, "Why?") && !is(each, "Copy fix") && (label.empty() || label == "line");
        if (is_link && window->InnerRect.Contains(each.RectFull.GetCenter()) && seen.insert(each.ID).second)
          found.push_back({each, window->Scroll.y});
      }
      if (scroll > window->ScrollMax.y) break;
    }
    return found;
  }

  static std::string get_name(const ImGuiTestItemInfo& item) {
    for (const char* each : {"List blocks", "Show on timeline", "Show block", "Show a copy", "Show event",
                             "Show memory map", "Try other settings", "All call stacks", "line"})
      if (is(item, each)) return each;
    return "another link";
  }

  [[nodiscard]] bool is_front(const char* panel) const {
    const ImGuiWindow* window = ImGui::FindWindowByName(panel);
    return window != nullptr && window->Active && !window->Hidden && window->DockTabIsVisible;
  }

  [[nodiscard]] bool block_is_listed(trace::block_id block) {
    const auto& drawn = app().find<gui::blocks_view>().blocks_on_screen();
    return std::find(drawn.begin(), drawn.end(), block) != drawn.end();
  }

  /// Expects that the marked range is on the screen and wide enough to see; without a marked range, that the marked
  /// moment is on the screen.
  void expect_mark_on_screen() {
    const gui::document& shown = *app().state().active();
    const auto& range = app().state().range();
    const auto& moment = app().state().moment();
    ASSERT_TRUE(range || moment);
    const time_range marked = range ? *range : time_range{*moment, *moment};
    if (range) {
      EXPECT_GT(range->length(), 2);
      EXPECT_GE(range->begin, shown.span.begin);
      EXPECT_LE(range->end, shown.span.end);
    }
    EXPECT_LE(shown.visible.begin, marked.begin);
    EXPECT_GE(shown.visible.end, marked.end);
  }

  /// Expects that the selection is on the screen: in its track, in Details and, for a block, in the list of blocks.
  void expect_selection_on_screen(ImGuiTestContext& user) {
    const gui::document& shown = *app().state().active();
    const gui::selection chosen = app().state().selected();
    query::details_query about;
    if (chosen.kind == selection_kind::event) about.event = static_cast<trace::event_id>(chosen.id);
    if (chosen.kind == selection_kind::block) about.block = static_cast<trace::block_id>(chosen.id);
    const auto reported = shown.engine->ask_now(about);
    ASSERT_TRUE(reported) << reported.error().to_string();
    const query::event_details& details = **reported;
    // The panel of a failed allocation comes to the front, with the failure.
    if (is_front("Out of memory")) return;
    EXPECT_TRUE(is_front("Details")) << "front: " << is_front("Summary") << is_front("Statistics") << chosen.id;
    EXPECT_NE(read(user).find(details.title), std::string::npos) << details.title;
    EXPECT_LE(shown.visible.begin, details.span.begin);
    EXPECT_GE(shown.visible.end, std::min(details.span.begin, shown.span.end - 1));
    const auto& tracks = app().find<gui::timeline_view>().tracks_on_screen();
    EXPECT_TRUE(details.track == 0 || std::find(tracks.begin(), tracks.end(), details.track) != tracks.end())
        << details.title;
    if (chosen.kind == selection_kind::block) {
      EXPECT_TRUE(is_front("Blocks"));
      EXPECT_TRUE(block_is_listed(static_cast<trace::block_id>(chosen.id))) << details.title;
    }
  }
};

TEST_F(links, of_the_summary_lead_to_what_they_name) {
  use([&](ImGuiTestContext& user) {
    std::size_t followed = 0;
    std::set<std::string> kinds;
    for (const auto& entry : std::filesystem::directory_iterator(SLUICE_SOURCE_DIR "/assets/recordings")) {
      if (entry.path().extension() != ".sluice") continue;
      SCOPED_TRACE(entry.path().filename().string());
      open_recording(user, entry.path().filename().string());
      app().invoke("panel.focus.Summary");
      user.Yield(3);
      user.ItemOpenAll("//Summary");
      if (user.ItemExists("//Summary/###Smaller findings")) user.ItemOpen("//Summary/###Smaller findings");
      settle(user);
      std::size_t lines = 0;
      for (const auto& [each, scroll] : links_in(user, "Summary")) {
        const std::string name = get_name(each);
        if ((name == "line" || name == "another link") && lines++ % 4 != 0) continue;  // These links are all similar.
        SCOPED_TRACE(name);
        app().invoke("panel.focus.Summary");
        app().invoke("selection.clear");
        user.Yield(2);
        const time_range before = app().state().active()->visible;
        const gui::location here = app().state().here();
        const gui::blocks_filter listed = app().find<gui::blocks_view>().filter();
        scroll_to(user, "Summary", scroll);
        user.ItemClick(each.ID);
        user.Yield(4);
        settle(user);
        user.Yield(4);
        settle(user);
        ++followed;
        kinds.insert(name);
        if (app().state().selected().kind != selection_kind::none) {
          expect_selection_on_screen(user);
        } else if (!(app().find<gui::blocks_view>().filter() == listed)) {
          EXPECT_TRUE(is_front("Blocks"));
          EXPECT_GT(app().find<gui::blocks_view>().count(), 0U) << "the list of blocks is empty";
        } else {
          const bool moved =
              app().state().active()->visible != before || app().state().range() || app().state().moment();
          const auto panels = {"Stacks", "What if", "Memory map", "Blocks", "Transfers", "Idle gaps", "Ranks"};
          if (name == "Show on timeline") {
            EXPECT_TRUE(is_front("Summary")) << "the card is still visible";
            EXPECT_TRUE(moved);
            expect_mark_on_screen();
            app().invoke("selection.back");
            user.Yield(2);
            settle(user);
            EXPECT_EQ(app().state().here(), here);
          }
          EXPECT_TRUE(moved || std::any_of(panels.begin(), panels.end(), [this](const char* p) { return is_front(p); }))
              << "the link did nothing";
        }
        if (user.IsError()) return;
      }
      app().invoke("file.close");
      user.Yield(3);
    }
    EXPECT_GT(followed, 50U);
    EXPECT_TRUE(kinds.contains("List blocks") && kinds.contains("Show on timeline"));
  });
}

TEST_F(links, copy_the_fix_of_a_finding) {
  use([&](ImGuiTestContext& user) {
    open_recording(user, "pytorch-training.sluice");
    const auto report = app().state().active()->engine->ask_now(query::report_query{});
    ASSERT_TRUE(report);
    ImGuiTestItemList items;
    user.GatherItems(&items, "//Summary", -1);
    const auto copy = std::find_if(items.begin(), items.end(), [](const auto& each) { return is(each, "Copy fix"); });
    ASSERT_NE(copy, items.end()) << "no finding has a fix";
    user.ItemClick(copy->ID);
    user.Yield(2);
    const auto first = std::find_if((*report)->findings.begin(), (*report)->findings.end(),
                                    [](const auto& each) { return !each.fix_code.empty(); });
    EXPECT_EQ(std::string(ImGui::GetClipboardText()), first->fix_code);
  });
}

TEST_F(links, of_details_lead_from_a_block_to_its_events_and_back) {
  use([&](ImGuiTestContext& user) {
    open_recording(user, "pytorch-training.sluice");
    const auto report = app().state().active()->engine->ask_now(query::report_query{});
    ASSERT_TRUE(report);
    const auto found = std::find_if((*report)->findings.begin(), (*report)->findings.end(),
                                    [](const auto& f) { return f.block != trace::block_id::none; });
    ASSERT_NE(found, (*report)->findings.end());
    const gui::selection block{app().state().active()->id, selection_kind::block, trace::raw(found->block)};
    app().invoke("selection.set", block);
    app().invoke("selection.reveal");
    user.Yield(4);
    settle(user);
    expect_selection_on_screen(user);
    std::size_t followed = 0;
    for (const auto& [each, scroll] : links_in(user, "Details")) {
      scroll_to(user, "Details", scroll);
      user.ItemClick(each.ID);
      user.Yield(4);
      settle(user);
      if (app().state().selected() == block) continue;
      ++followed;
      expect_selection_on_screen(user);
      app().invoke("selection.set", block);
      user.Yield(3);
      settle(user);
    }
    EXPECT_GE(followed, 4U) << "its allocation, its first and last use, its segment";
  });
}

}  // namespace
}  // namespace sluice::test
