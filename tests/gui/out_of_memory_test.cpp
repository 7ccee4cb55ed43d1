// A recording of a program that ran out of memory, in a real window: it opens at the failure and shows what would help.
#include <gtest/gtest.h>

#include "core/base/format.hpp"
#include "imgui_internal.h"
#include "tests/core/recordings/torch_program.hpp"
#include "tests/gui/window_fixture.hpp"

namespace sluice::test {
namespace {

using gui::selection_kind;

class out_of_memory_panel : public window_test {
 protected:
  void open_failure(ImGuiTestContext& user) {
    testing::write_history(made_);
    made_.close();
    app().open(made_.path());
    EXPECT_TRUE(wait_until(user, [&] { return app().state().active() != nullptr && app().state().ready(); }));
    EXPECT_TRUE(wait_until(user, [&] { return app().state().selected().kind == selection_kind::event; }));
    user.Yield(8);  // The panel comes to the front.
    settle(user);
  }
  /// Moves the mouse down the panel, starting at `share` of its height, and clicks each link until `done` returns true.
  bool click_a_link_below(ImGuiTestContext& user, float share, const std::function<bool()>& done) {
    const ImGuiWindow* panel = ImGui::FindWindowByName("Out of memory");
    if (panel == nullptr) return false;
    const ImRect area = panel->InnerRect;
    for (float y = area.Min.y + area.GetHeight() * share; y < area.Max.y && !done(); y += 8) {
      user.MouseMoveToPos({area.Min.x + 130, y});
      user.Yield();
      if (ImGui::GetMouseCursor() != ImGuiMouseCursor_Hand) continue;
      user.MouseClick(0);
      user.Yield(3);
      settle(user);
    }
    return done();
  }
  std::shared_ptr<const metrics::report> report() {
    return *app().state().active()->engine->ask_now(query::report_query{});
  }

 private:
  testing::recording made_;
};

TEST_F(out_of_memory_panel, opens_at_the_failure) {
  use([&](ImGuiTestContext& user) {
    open_failure(user);
    const auto whole = report();
    ASSERT_EQ(whole->out_of_memory.size(), 1U);
    const metrics::out_of_memory& memory = whole->out_of_memory.front().metrics;
    EXPECT_EQ(app().state().selected().kind, selection_kind::event);
    EXPECT_EQ(app().state().selected().id, trace::raw(memory.event));
    EXPECT_EQ(app().state().moment(), memory.time);
    const time_range visible = app().state().active()->visible;
    EXPECT_TRUE(visible.holds(memory.time));
    EXPECT_LT(visible.length(), app().state().active()->span.length() / 2) << "zoomed to the time before the failure";
  });
}

TEST_F(out_of_memory_panel, says_what_there_was_who_held_it_and_what_would_help) {
  use([&](ImGuiTestContext& user) {
    open_failure(user);
    const metrics::out_of_memory_report memory_report = report()->out_of_memory.front();
    const std::string words = read(user);
    EXPECT_NE(words.find("Out of memory at " + format_moment(memory_report.metrics.time)), std::string::npos) << words;
    EXPECT_NE(words.find("90.0 MiB from PyTorch"), std::string::npos) << words;
    EXPECT_NE(words.find("340 MiB, the GPU's memory"), std::string::npos) << words;
    EXPECT_NE(words.find(memory_report.verdict), std::string::npos) << words;
    ASSERT_FALSE(memory_report.changes.empty());
    EXPECT_NE(words.find("train.py:20 (keep_history)"), std::string::npos) << words;
    EXPECT_NE(words.find("No longer used"), std::string::npos) << words;
  });
}

TEST_F(out_of_memory_panel, leads_from_a_line_to_its_largest_block) {
  use([&](ImGuiTestContext& user) {
    open_failure(user);
    const metrics::out_of_memory_report memory_report = report()->out_of_memory.front();
    ASSERT_TRUE(
        click_a_link_below(user, 0.25F, [&] { return app().state().selected().kind == selection_kind::block; }));
    bool listed = false;
    for (const metrics::oom_list* list :
         {&memory_report.categories, &memory_report.lines, &memory_report.unused, &memory_report.pins})
      for (const metrics::oom_line& each : list->lines)
        listed = listed || app().state().selected().id == trace::raw(each.largest);
    EXPECT_TRUE(listed) << app().state().selected().id;
    app().invoke("failure.show");
    user.Yield(4);
    settle(user);
    EXPECT_EQ(app().state().selected().kind, selection_kind::event) << "and back at the failure";
  });
}

TEST_F(out_of_memory_panel, stays_away_from_recordings_without_a_failure) {
  use([&](ImGuiTestContext& user) {
    open_sample(user);
    EXPECT_EQ(app().state().selected().kind, selection_kind::none);
    EXPECT_EQ(read(user).find("Out of memory at"), std::string::npos);
  });
}

}  // namespace
}  // namespace sluice::test
