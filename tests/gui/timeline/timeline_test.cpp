// The tracks of the timeline in a real window, used by mouse and keyboard.
#include "app/gui/views/timeline/timeline.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "app/gui/views/blocks.hpp"
#include "imgui_internal.h"
#include "tests/gui/window_fixture.hpp"

namespace sluice::test {
namespace {

using gui::selection;
using gui::selection_kind;

class timeline_panel : public window_test {
 protected:
  const gui::timeline_view& timeline() { return app().find<gui::timeline_view>(); }
  const query::track* track(std::string_view label) {
    for (const gui::placed_track& each : timeline().layout().tracks)
      if (each.track->label == label) return each.track;
    return nullptr;
  }
  selection of(const query::track& subject) { return {app().state().active()->id, selection_kind::track, subject.id}; }
  /// The events of a track over the whole recording, in order.
  std::vector<query::slice> get_slices(std::string_view label) {
    const document_slices slices = app().state().active()->engine->ask_now(
        query::slices_query{track(label)->id, app().state().active()->span, 16384});
    return (*slices)->slices;
  }
  using document_slices = result<std::shared_ptr<const query::slice_list>>;
  void select(ImGuiTestContext& user, trace::event_id event) {
    app().invoke("selection.set", selection{app().state().active()->id, selection_kind::event, trace::raw(event)});
    user.Yield(2);
    settle(user);
  }
  [[nodiscard]] trace::event_id selected() { return static_cast<trace::event_id>(app().state().selected().id); }
};

TEST_F(timeline_panel, opens_on_steady_steps) {
  use([&](ImGuiTestContext& user) {
    app().open(SLUICE_SOURCE_DIR "/assets/recordings/pytorch-training.sluice");
    EXPECT_TRUE(wait_until(user, [&] { return app().state().active() != nullptr && app().state().active()->ready(); }));
    user.Yield(6);
    settle(user);
    const gui::document& shown = *app().state().active();
    EXPECT_EQ(shown.visible, shown.opening);
    EXPECT_GT(shown.visible.begin, shown.active.begin + shown.active.length() / 2)
        << "after imports and the first steps";
    EXPECT_LT(shown.visible.length(), 100'000'000) << "a dozen steps of 6 ms";
  });
}

TEST_F(timeline_panel, hides_pins_and_moves_tracks) {
  use([&](ImGuiTestContext& user) {
    open_sample(user);
    const std::size_t total = timeline().layout().tracks.size();
    const query::track* compute = track("compute");
    ASSERT_NE(compute, nullptr);
    app().invoke("timeline.track_pin", of(*compute));
    user.Yield(3);
    EXPECT_EQ(timeline().layout().tracks.front().track->label, "compute");
    EXPECT_EQ(timeline().layout().groups.front().title, "Pinned");
    app().invoke("timeline.track_hide", of(*track("copy in")));
    user.Yield(3);
    EXPECT_EQ(track("copy in"), nullptr);
    EXPECT_EQ(timeline().layout().tracks.size(), total - 1);
    app().invoke("timeline.show_all_tracks");
    user.Yield(3);
    EXPECT_EQ(timeline().layout().tracks.size(), total);
    EXPECT_NE(timeline().layout().groups.front().title, "Pinned");
    const auto place = [&](std::string_view label) {
      const auto& tracks = timeline().layout().tracks;
      return std::find_if(tracks.begin(), tracks.end(),
                          [&](const gui::placed_track& each) { return each.track->label == label; }) -
             tracks.begin();
    };
    const auto before = place("compute");
    app().invoke("timeline.track_up", of(*track("compute")));
    user.Yield(3);
    EXPECT_EQ(place("compute"), before - 1);
  });
}

TEST_F(timeline_panel, offers_a_menu_on_the_name_of_a_track) {
  use([&](ImGuiTestContext& user) {
    open_sample(user);
    const gui::draw::rectangle& area = timeline().axis_area();
    const std::string first = timeline().layout().tracks.front().track->label;
    user.MouseMoveToPos({area.min.x - 120, area.min.y + gui::idle_strips::height + 40});
    user.MouseClick(ImGuiMouseButton_Right);
    user.Yield(3);
    EXPECT_NE(read(user).find("Pin to the top"), std::string::npos);
    user.ItemClick("//$FOCUSED/Hide");
    user.Yield(3);
    EXPECT_EQ(track(first), nullptr) << "the first track is hidden";
    EXPECT_EQ(timeline().layout().hidden, 1U);
  });
}

TEST_F(timeline_panel, explains_a_track_where_its_name_is) {
  use([&](ImGuiTestContext& user) {
    open_sample(user);
    const gui::draw::rectangle& area = timeline().axis_area();
    user.MouseMoveToPos({area.min.x - 120, area.min.y + gui::idle_strips::height + 36});
    user.Yield(3);
    EXPECT_NE(read(user).find("Memory on the GPU that the recorded programs allocated."), std::string::npos);
  });
}

TEST_F(timeline_panel, steps_to_the_next_event_of_the_same_name_and_back) {
  use([&](ImGuiTestContext& user) {
    open_sample(user);
    const std::vector<query::slice> kernels = get_slices("compute");
    ASSERT_EQ(kernels.size(), static_cast<std::size_t>(sample::chunks));
    // Every fifth kernel has a different name.
    select(user, kernels[4].event);
    user.KeyPress(ImGuiKey_N);
    EXPECT_TRUE(wait_until(user, [&] { return selected() == kernels[9].event; }));
    user.KeyPress(ImGuiMod_Shift | ImGuiKey_N);
    EXPECT_TRUE(wait_until(user, [&] { return selected() == kernels[4].event; }));
    user.KeyPress(ImGuiMod_Shift | ImGuiKey_N);
    user.Yield(5);
    settle(user);
    EXPECT_EQ(selected(), kernels[4].event) << "it is the first";
  });
}

TEST_F(timeline_panel, shows_the_event_that_it_steps_to) {
  use([&](ImGuiTestContext& user) {
    open_sample(user);
    const std::vector<query::slice> kernels = get_slices("compute");
    ASSERT_GT(kernels.size(), 9U);
    app().invoke("timeline.show", time_range{kernels[4].begin - 1000, kernels[4].end + 1000});
    select(user, kernels[4].event);
    user.KeyPress(ImGuiKey_N);
    EXPECT_TRUE(wait_until(user, [&] { return selected() == kernels[9].event; }));
    settle(user);
    EXPECT_TRUE(app().state().active()->visible.holds(kernels[9].begin));
  });
}

TEST_F(timeline_panel, connects_a_copy_with_the_call_that_asked_for_it) {
  use([&](ImGuiTestContext& user) {
    open_sample(user);
    const std::vector<query::slice> copies = get_slices("copy in");
    ASSERT_FALSE(copies.empty());
    select(user, copies[3].event);
    ASSERT_TRUE(wait_until(user, [&] { return !timeline().flows().drawn().empty(); }));
    const auto details = app().state().active()->engine->ask_now(query::details_query{copies[3].event, {}});
    ASSERT_TRUE(details);
    const gui::flow_lines::flow flow = timeline().flows().drawn().front();
    EXPECT_TRUE(std::any_of((*details)->details.begin(), (*details)->details.end(),
                            [&](const query::detail& each) { return each.link == flow.other; }));
    EXPECT_LE(flow.from.x, flow.to.x) << "from the call to the copy";
    EXPECT_NEAR(flow.to.x, get_place(copies[3].begin, 0).x, 1.5F);
    app().invoke("selection.clear");
    user.Yield(3);
    EXPECT_TRUE(timeline().flows().drawn().empty());
  });
}

TEST_F(timeline_panel, lists_the_blocks_of_the_memory_that_is_clicked) {
  use([&](ImGuiTestContext& user) {
    open_sample(user);
    settle(user);
    const auto& blocks = app().find<gui::blocks_view>();
    const time_range active = app().state().active()->active;
    const time_ns time = active.begin + active.length() / 2;
    // Moves the mouse down until it is on the area of the device's memory.
    for (float down = 16; down < 200 && !blocks.filter().range; down += 6) {
      user.MouseMoveToPos(get_place(time, down));
      user.MouseClick(0);
      user.Yield(4);
    }
    settle(user);
    const gui::blocks_filter filter = blocks.filter();
    ASSERT_TRUE(filter.range.has_value());
    EXPECT_EQ(filter.range->begin, app().state().moment());
    EXPECT_TRUE(filter.layer.has_value());
    EXPECT_GT(blocks.count(), 0U);
    user.MouseDoubleClick(0);
    user.Yield(4);
    EXPECT_EQ(app().state().active()->active, active);
    EXPECT_EQ(blocks.filter().layer, filter.layer) << "it shows these blocks, not those of the whole recording";
  });
}

TEST_F(timeline_panel, hides_its_tooltip_when_a_key_is_pressed_until_the_mouse_moves) {
  use([&](ImGuiTestContext& user) {
    open_sample(user);
    settle(user);
    const auto tip = [] {
      const ImGuiWindow* window = ImGui::FindWindowByName("##Tooltip_00");
      return window != nullptr && window->WasActive && !window->Hidden ? window : nullptr;
    };
    const time_range visible = app().state().active()->visible;
    const time_ns late = visible.begin + visible.length() / 50 * 49;
    user.MouseMoveToPos(get_place(late, 60));
    user.Yield(6);
    ASSERT_NE(tip(), nullptr);
    EXPECT_TRUE(ImGui::FindWindowByName("Timeline")->Rect().Contains(tip()->Rect())) << "the tip covers no other panel";
    user.KeyPress(ImGuiKey_B);
    user.Yield(4);
    EXPECT_EQ(tip(), nullptr);
    user.MouseMoveToPos(get_place(late, 64));
    user.Yield(4);
    EXPECT_NE(tip(), nullptr);
  });
}

TEST_F(timeline_panel, measures_with_shift_without_selecting) {
  use([&](ImGuiTestContext& user) {
    open_sample(user);
    const ImVec2 vec2 = get_place(5'000'000, 200);
    const ImVec2 to = get_place(9'000'000, 200);
    user.KeyDown(ImGuiMod_Shift);
    user.MouseMoveToPos(vec2);
    user.MouseDown(0);
    user.MouseMoveToPos(to);
    user.MouseUp(0);
    user.KeyUp(ImGuiMod_Shift);
    user.Yield(2);
    ASSERT_TRUE(timeline().measured().has_value());
    const time_ns pixel = app().state().active()->visible.length() / 400;
    EXPECT_NEAR(static_cast<double>(timeline().measured()->length()), 4e6, static_cast<double>(pixel));
    EXPECT_FALSE(app().state().range().has_value());
    user.MouseMoveToPos(get_place(3'000'000, 200));
    user.MouseClick(0);
    user.Yield(2);
    EXPECT_FALSE(timeline().measured().has_value()) << "a click ends the measurement";
  });
}

}  // namespace
}  // namespace sluice::test
