// The main panels with each bundled recording: they are in their places, and their text agrees with the report.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "app/gui/views/blocks.hpp"
#include "app/gui/views/parts/panel_parts.hpp"
#include "app/gui/views/timeline/timeline.hpp"
#include "app/gui/window/format.hpp"
#include "core/base/format.hpp"
#include "imgui_internal.h"
#include "tests/gui/window_fixture.hpp"

namespace sluice::test {
namespace {

class bundled_recordings : public window_test {
 protected:
  void open(ImGuiTestContext& user, const std::filesystem::path& recording) {
    app().open(recording.string());
    EXPECT_TRUE(wait_until(
        user, [&] { return app().state().ready() && app().state().active()->title == recording.filename().string(); }));
    user.Yield(4);
    settle(user);
  }
  template <class Query>
  auto ask(const Query& query) {
    return app().state().active()->engine->ask_now(query).value();
  }
  std::string get_words(ImGuiTestContext& user, const char* panel) {
    app().invoke(std::string("panel.focus.") + panel);
    user.Yield(4);
    settle(user);
    expect_in_place(panel);
    return read(user);
  }
  /// Expects the panel to be in front, large enough to read, and on the screen.
  static void expect_in_place(const char* panel) {
    const ImGuiWindow* const window = ImGui::FindWindowByName(panel);
    ASSERT_NE(window, nullptr) << panel;
    EXPECT_TRUE(window->Active && window->DockTabIsVisible) << panel;
    const ImRect screen({0, 0}, ImGui::GetIO().DisplaySize);
    EXPECT_TRUE(screen.Contains(window->Rect())) << panel;
    EXPECT_GT(window->InnerRect.GetWidth(), 200) << panel;
    EXPECT_GT(window->InnerRect.GetHeight(), 100) << panel;
    const ImGuiWindow* const timeline = ImGui::FindWindowByName("Timeline");
    ASSERT_NE(timeline, nullptr);
    EXPECT_FALSE(timeline->InnerRect.Overlaps(window->InnerRect)) << panel << " covers the timeline";
  }
  void expect_timeline_in_place() {
    const gui::draw::rectangle& axis = app().find<gui::timeline_view>().axis_area();
    const ImGuiWindow* const timeline = ImGui::FindWindowByName("Timeline");
    ASSERT_NE(timeline, nullptr);
    EXPECT_TRUE(timeline->Rect().Contains(ImRect(axis.min, axis.max)));
    const gui::document& shown = *app().state().active();
    // A recording that ran out of memory opens on the time before the failure.
    if (const auto report = ask(query::report_query{}); report->out_of_memory.empty()) {
      EXPECT_LE(shown.visible.begin, shown.opening.begin);
      EXPECT_GE(shown.visible.end, shown.opening.end);
    } else {
      EXPECT_TRUE(shown.visible.holds(report->failures.front().time));
    }
    EXPECT_NEAR(get_place(shown.visible.begin, 0).x, axis.min.x, 1);
    EXPECT_NEAR(get_place(shown.visible.end, 0).x, axis.max.x, 1);
  }
};

TEST_F(bundled_recordings, show_the_metrics_of_their_reports_in_panels_that_lie_where_they_belong) {
  use([&](ImGuiTestContext& user) {
    resize(user, 1600, 1000);
    std::size_t recordings = 0;
    for (const auto& file : std::filesystem::directory_iterator(SLUICE_SOURCE_DIR "/assets/recordings")) {
      if (file.path().extension() != ".sluice") continue;
      SCOPED_TRACE(file.path().filename().string());
      ++recordings;
      open(user, file.path());
      expect_timeline_in_place();
      const auto report = ask(query::report_query{});
      const auto expect_said = [](const std::string& words, const std::string& wanted, const char* panel) {
        EXPECT_NE(words.find(wanted), std::string::npos) << panel << " does not say " << wanted << ":\n" << words;
      };

      const std::string summary = get_words(user, "Summary");
      expect_said(summary, report->verdict.headline.substr(0, 20), "Summary");
      if (report->out_of_memory.empty())
        for (const metrics::verdict_number& each : report->verdict.numbers) expect_said(summary, each.value, "Summary");
      if (const metrics::memory_peak* peak = gui::main_peak(*report))
        expect_said(summary, format_bytes(peak->bytes), "Summary");

      const std::string statistics = get_words(user, "Statistics");
      for (const auto& memory : report->whole.memory)
        expect_said(statistics, format_bytes(memory.maximum), "Statistics");

      const std::string blocks = get_words(user, "Blocks");
      query::blocks_query wanted;
      wanted.range = app().state().active()->span;
      wanted.layer = app().find<gui::blocks_view>().filter().layer;
      const auto table = ask(wanted);
      if (table->count > 0)
        expect_said(blocks,
                    format_some(table->count, "block") + ", " + format_bytes(static_cast<double>(table->total_bytes)),
                    "Blocks");

      const std::string transfers = get_words(user, "Transfers");
      for (const auto& each : report->whole.transfers)
        expect_said(transfers, format_bytes(static_cast<double>(each.bytes)), "Transfers");

      get_words(user, "Memory map");
      get_words(user, "Stacks");
      app().invoke("file.close");
      user.Yield(3);
    }
    EXPECT_GE(recordings, 7U);
  });
}

}  // namespace
}  // namespace sluice::test
