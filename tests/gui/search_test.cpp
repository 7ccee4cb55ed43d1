// The panel that searches events by name, in a real window.
#include <gtest/gtest.h>

#include "app/gui/views/blocks.hpp"
#include "app/gui/views/search.hpp"
#include "app/gui/views/timeline/timeline.hpp"
#include "core/base/format.hpp"
#include "core/query/engine/engine.hpp"
#include "imgui_internal.h"
#include "tests/gui/window_fixture.hpp"

namespace sluice::test {
namespace {

class search_panel : public window_test {
 protected:
  void type(ImGuiTestContext& user, const char* text) {
    open_sample(user);
    app().invoke("search.open");
    user.Yield(4);
    user.ItemInput("//Search/##search");
    user.KeyPress(ImGuiMod_Ctrl | ImGuiKey_A);
    user.KeyChars(text);
    user.Yield(3);
    settle(user);
  }
  /// The name of some kernel and its first event.
  query::found_name any_kernel() {
    const auto& engine = app().state().active()->engine;
    const auto found = engine->ask_now(query::search_query{"e"}).value();
    for (const query::found_name& each : found->names)
      if (each.kind == trace::row_type::kernel) return each;
    return {};
  }
};

TEST_F(search_panel, a_row_leads_to_the_first_event_of_its_name) {
  use([&](ImGuiTestContext& user) {
    open_sample(user);
    const query::found_name wanted = any_kernel();
    ASSERT_GT(wanted.count, 0U);
    const std::string name(app().state().active()->engine->snapshot()->tables().text(wanted.name));
    type(user, name.c_str());
    EXPECT_NE(read(user).find(name), std::string::npos);
    user.ItemClick("//Search/**/##row");
    user.Yield(3);
    EXPECT_EQ(app().state().selected().kind, gui::selection_kind::event);
    EXPECT_EQ(app().state().selected().id, trace::raw(wanted.first.event));
  });
}

TEST_F(search_panel, steps_from_one_found_event_to_the_next_and_round) {
  use([&](ImGuiTestContext& user) {
    open_sample(user);
    app().invoke("search.find", std::string("scale_and_add"));
    user.Yield(4);
    settle(user);
    const auto found = *app().state().active()->engine->ask_now(query::search_query{"scale_and_add"});
    ASSERT_GT(found->events.size(), 3U);
    const auto step = [&](ImGuiKeyChord key) {
      user.KeyPress(key);
      user.Yield(4);
      settle(user);
      return app().state().selected().id;
    };
    EXPECT_EQ(step(ImGuiKey_F3), trace::raw(found->events[0].event));
    EXPECT_EQ(step(ImGuiKey_F3), trace::raw(found->events[1].event));
    EXPECT_EQ(step(ImGuiMod_Shift | ImGuiKey_F3), trace::raw(found->events[0].event));
    EXPECT_EQ(step(ImGuiMod_Shift | ImGuiKey_F3), trace::raw(found->events.back().event))
        << "before the first is the last";
  });
}

TEST_F(search_panel, marks_what_it_found_on_the_ruler_until_the_text_is_cleared) {
  use([&](ImGuiTestContext& user) {
    type(user, "scale_and_add");
    const auto found = *app().state().active()->engine->ask_now(query::search_query{"scale_and_add"});
    const time_ns begin = found->events.at(0).begin;
    const std::string words = "search result at " + format_moment(begin);
    const float top = app().find<gui::timeline_view>().axis_area().min.y;
    const auto is_marked = [&] {
      // The ruler is between the overview and the tracks.
      for (float up = 2; up < 60; up += 2) {
        user.MouseTeleportToPos({get_place(begin, 0).x, top - up});
        user.Yield(3);
        if (read(user).find(words) != std::string::npos) return true;
      }
      return false;
    };
    EXPECT_TRUE(is_marked());
    take_picture(user, "found events on the ruler");
    type(user, "");
    user.KeyPress(ImGuiKey_Delete);
    user.Yield(3);
    EXPECT_FALSE(is_marked());
  });
}

TEST_F(search_panel, finds_lines_of_code_which_lead_to_their_blocks) {
  use([&](ImGuiTestContext& user) {
    app().open(SLUICE_SOURCE_DIR "/assets/recordings/pytorch-training.sluice");
    EXPECT_TRUE(wait_until(user, [&] { return app().state().active() != nullptr && app().state().ready(); }));
    user.Yield(6);
    app().invoke("search.find", std::string("train.py:44"));
    user.Yield(4);
    settle(user);
    EXPECT_NE(read(user).find("rec/train.py:44, forward"), std::string::npos);
    user.ItemClick(ImHashStr("rec/train.py:44, forward", 0, user.GetID("//Search/$$0")));
    user.Yield(4);
    settle(user);
    EXPECT_EQ(app().find<gui::blocks_view>().filter().text, "rec/train.py:44, forward");
    EXPECT_GT(app().find<gui::blocks_view>().count(), 100U);
  });
}

TEST_F(search_panel, is_asked_by_a_command_and_says_how_much_it_found) {
  use([&](ImGuiTestContext& user) {
    open_sample(user);
    app().invoke("search.find", std::string("scale_and_add"));
    user.Yield(4);
    settle(user);
    const auto found = *app().state().active()->engine->ask_now(query::search_query{"scale_and_add"});
    ASSERT_GT(found->total, 0U);
    const std::string words = read(user);
    EXPECT_NE(words.find(format_some(found->total, "event") + " of " + format_some(found->name_count, "name")),
              std::string::npos)
        << words;
    EXPECT_EQ(words.find("so far"), std::string::npos) << "the search has ended";
    EXPECT_FALSE(app().find<gui::search_view>().searching());
  });
}

TEST_F(search_panel, says_when_nothing_is_called_that) {
  use([&](ImGuiTestContext& user) {
    type(user, "no such name anywhere");
    EXPECT_NE(read(user).find("No matching names"), std::string::npos);
  });
}

}  // namespace
}  // namespace sluice::test
