// The notes panel in a real window. Notes are saved beside the recording, or in the config folder if that is read-only;
// a saved view restores the range and settings with which it was saved.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "app/gui/shell/side_files.hpp"
#include "app/gui/views/blocks.hpp"
#include "app/gui/views/timeline/timeline.hpp"
#include "core/base/format.hpp"
#include "tests/gui/window_fixture.hpp"

namespace sluice::test {
namespace {

namespace fs = std::filesystem;

class notes_panel : public window_test {
 protected:
  notes_panel() { config_folder = folder + "/config"; }
  void SetUp() override {
    fs::create_directories(config_folder);
    fs::create_directories(folder + "/data");
    window_test::SetUp();
    fs::copy_file(path, recording);
  }
  void TearDown() override {
    fs::permissions(folder + "/data", fs::perms::owner_all);
    window_test::TearDown();
    fs::remove_all(folder);
  }
  void open(ImGuiTestContext& user, const std::string& which) {
    app().open(which);
    EXPECT_TRUE(wait_until(user, [&] { return app().state().ready() && !app().state().opening(); }));
    user.Yield(6);
    settle(user);
  }
  std::vector<gui::user_note> stored(const std::string& at) {
    auto found = gui::read_notes(at, gui::identify_recording(*app().state().active()));
    EXPECT_TRUE(found) << found.error().to_string();
    return found.value_or(std::vector<gui::user_note>{});
  }
  void run(ImGuiTestContext& user, const char* id, gui::argument with = {}) {
    app().invoke(id, std::move(with));
    user.Yield(3);
    settle(user);
  }

  const std::string folder = test::own_path("notes");
  const std::string recording = folder + "/data/a.sluice";
};

TEST_F(notes_panel, keeps_a_note_about_a_range_beside_the_recording) {
  use([&](ImGuiTestContext& user) {
    open(user, recording);
    run(user, "selection.range", time_range{2'000'000, 5'000'000});
    run(user, "notes.add", std::string("the copy that waits"));
    const auto notes = stored(gui::notes_path(recording));
    ASSERT_EQ(notes.size(), 1U);
    EXPECT_EQ(notes[0].range, (time_range{2'000'000, 5'000'000}));
    EXPECT_EQ(notes[0].text, "the copy that waits");
    EXPECT_NE(read(user).find("the copy that waits"), std::string::npos);
  });
}

TEST_F(notes_panel, edits_deletes_and_goes_from_note_to_note) {
  use([&](ImGuiTestContext& user) {
    open(user, recording);
    for (const time_ns at : {8'000'000, 3'000'000}) {
      run(user, "moment.set", time_range{at, at});
      run(user, "notes.add", std::string("at ") + std::to_string(at));
    }
    run(user, "notes.next");
    EXPECT_EQ(app().state().moment(), 8'000'000) << "the note after the new one";
    run(user, "notes.next");
    EXPECT_EQ(app().state().moment(), 3'000'000) << "and wraps around";
    run(user, "notes.edit", std::string("changed"));
    EXPECT_EQ(stored(gui::notes_path(recording))[0].text, "changed");
    run(user, "notes.delete");
    ASSERT_EQ(stored(gui::notes_path(recording)).size(), 1U);
    EXPECT_EQ(stored(gui::notes_path(recording))[0].text, "at 8000000");
  });
}

TEST_F(notes_panel, drops_a_new_note_that_is_left_without_a_text_and_keeps_what_enter_ends) {
  use([&](ImGuiTestContext& user) {
    open(user, recording);
    const auto press = [&](ImGuiKeyChord key) {
      user.KeyPress(key);
      user.Yield(4);
      settle(user);
    };
    run(user, "notes.add");
    press(ImGuiKey_Escape);
    EXPECT_TRUE(stored(gui::notes_path(recording)).empty()) << "a key that is pressed by mistake has no effect";
    run(user, "notes.add");
    user.KeyChars("it waits");
    press(ImGuiKey_Enter);
    run(user, "notes.add");
    press(ImGuiKey_Enter);
    const auto notes = stored(gui::notes_path(recording));
    ASSERT_EQ(notes.size(), 2U);
    EXPECT_EQ(notes[0].text + notes[1].text, "it waits") << "the other is a bookmark without text";
  });
}

TEST_F(notes_panel, are_kept_in_the_config_folder_if_the_recording_is_read_only) {
  if (::geteuid() == 0) GTEST_SKIP() << "root can write everywhere";
  use([&](ImGuiTestContext& user) {
    open(user, recording);
    fs::permissions(folder + "/data", fs::perms::owner_read | fs::perms::owner_exec);
    run(user, "notes.add", std::string("kept"));
    EXPECT_EQ(stored(gui::notes_path_in(config_folder, recording)).at(0).text, "kept");
    EXPECT_NE(read(user).find("The recording's folder is not writable"), std::string::npos);
  });
}

TEST_F(notes_panel, says_why_a_file_of_notes_is_not_read_and_leaves_it_alone) {
  use([&](ImGuiTestContext& user) {
    { std::ofstream(gui::notes_path(recording)) << "no notes"; }
    open(user, recording);
    run(user, "panel.focus.Notes");
    EXPECT_NE(read(user).find("The notes were not read"), std::string::npos);
    run(user, "notes.add", std::string("lost?"));
    std::ifstream in(gui::notes_path(recording));
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), "no notes");
  });
}

TEST_F(notes_panel, bears_a_file_of_notes_that_is_nested_too_deep) {
  use([&](ImGuiTestContext& user) {
    const std::string deep =
        R"({"sluice_notes": 1, "notes": )" + std::string(100'000, '[') + std::string(100'000, ']') + "}";
    { std::ofstream(gui::notes_path(recording)) << deep; }
    open(user, recording);
    run(user, "panel.focus.Notes");
    EXPECT_NE(read(user).find("nested deeper than 100 levels"), std::string::npos);
    run(user, "notes.add", std::string("lost?"));
    EXPECT_EQ(fs::file_size(gui::notes_path(recording)), deep.size());
  });
}

TEST_F(notes_panel, opens_a_saved_view_where_it_was_saved) {
  use([&](ImGuiTestContext& user) {
    const std::string view = folder + "/data/mine.sluiceview";
    open(user, recording);
    run(user, "timeline.show", time_range{4'000'000, 9'000'000});
    run(user, "selection.range", time_range{5'000'000, 6'000'000});
    run(user, "view.save", view);
    ASSERT_TRUE(fs::exists(view));
    const time_range shown = app().state().active()->target;
    run(user, "file.close");
    open(user, view);
    ASSERT_NE(app().state().active(), nullptr);
    EXPECT_EQ(app().state().active()->path, recording);
    EXPECT_EQ(app().state().active()->target, shown);
    EXPECT_EQ(app().state().range(), (time_range{5'000'000, 6'000'000}));
    EXPECT_EQ(app().notice(), "");
  });
}

TEST_F(notes_panel, marks_notes_on_the_ruler_with_their_text_and_selects_the_one_that_is_clicked) {
  use([&](ImGuiTestContext& user) {
    open(user, recording);
    run(user, "moment.set", time_range{6'000'000, 6'000'000});
    run(user, "notes.add", std::string("here it waits"));
    run(user, "moment.set", time_range{12'000'000, 12'000'000});
    run(user, "notes.add", std::string("here it does not"));
    run(user, "selection.clear");
    user.MouseTeleportToPos({4, 4});
    user.Yield(2);
    take_picture(user, "notes on the ruler");
    const ImVec2 flag = get_place(6'000'000, 0);
    const auto& area = app().find<gui::timeline_view>().axis_area();
    // The ruler is between the overview and the tracks.
    bool found = false;
    for (float up = 2; up < 60 && !found; up += 2) {
      user.MouseTeleportToPos({flag.x + 1, area.min.y - up});
      user.Yield(3);
      found = read(user).find("note at " + format_moment(6'000'000)) != std::string::npos;
    }
    ASSERT_TRUE(found);
    EXPECT_NE(read(user).find("here it waits"), std::string::npos);
    user.MouseClick(0);
    user.Yield(3);
    EXPECT_EQ(app().state().moment(), 6'000'000);
  });
}

/// Changes every setting of the views that a saved view stores.
void change_views(const std::function<void(const char*, gui::argument)>& run, gui::application& app) {
  const gui::document_id here = app.state().active()->id;
  const std::uint64_t track = app.find<gui::timeline_view>().layout().tracks.back().track->id;
  run("timeline.track_pin", gui::selection{here, gui::selection_kind::track, track});
  run("generations.mark", time_range{3'000'000, 3'000'000});
  gui::blocks_filter filter;
  filter.text = "chunk";
  filter.only_unfreed = true;
  run("blocks.show", filter);
  run("timeline.add_query", std::string("SELECT id, time, end, name FROM kernels"));
}

TEST_F(notes_panel, keep_the_changed_views_in_a_saved_view) {
  use([&](ImGuiTestContext& user) {
    const std::string view = folder + "/data/mine.sluiceview";
    open(user, recording);
    change_views([&](const char* id, gui::argument with) { run(user, id, std::move(with)); }, app());
    const gui::kept_view before = app().state().kept(app().state().active()->id);
    ASSERT_EQ(before.pinned.size(), 1U);
    ASSERT_EQ(before.generations.size(), 1U);
    ASSERT_EQ(before.queries.size(), 1U);
    ASSERT_TRUE(before.blocks && before.blocks->only_unfreed);
    run(user, "view.save", view);
    run(user, "file.close");
    open(user, view);
    ASSERT_NE(app().state().active(), nullptr);
    EXPECT_EQ(app().notice(), "");
    EXPECT_EQ(app().state().kept(app().state().active()->id), before);
    EXPECT_EQ(app().find<gui::blocks_view>().filter(), *before.blocks);
    EXPECT_EQ(app().find<gui::timeline_view>().layout().groups.front().title, "Pinned");
  });
}

TEST_F(notes_panel, keep_the_changed_views_with_the_session_and_say_if_they_cannot_be_read) {
  use([&](ImGuiTestContext& user) {
    open(user, recording);
    change_views([&](const char* id, gui::argument with) { run(user, id, std::move(with)); }, app());
    const gui::kept_view before = app().state().kept(app().state().active()->id);
    const time_range shown = app().state().active()->visible;
    run(user, "file.close");
    app().remembered().last_session = {{recording, shown.begin, shown.end, gui::to_text(before)}};
    app().invoke("file.restore");
    EXPECT_TRUE(wait_until(user, [&] { return app().state().ready(); }));
    user.Yield(6);
    settle(user);
    EXPECT_EQ(app().state().kept(app().state().active()->id), before);
    EXPECT_EQ(app().notice(), "");
    run(user, "file.close");
    app().remembered().last_session = {{recording, shown.begin, shown.end, R"({"pinned_tracks": "all"})"}};
    app().invoke("file.restore");
    EXPECT_TRUE(wait_until(user, [&] { return app().state().ready(); }));
    user.Yield(6);
    EXPECT_NE(app().notice().find("pinned_tracks"), std::string::npos) << app().notice();
  });
}

TEST_F(notes_panel, refuses_a_view_of_another_recording_of_that_name) {
  use([&](ImGuiTestContext& user) {
    const std::string view = folder + "/data/mine.sluiceview";
    gui::saved_view saved_view;
    saved_view.recording = {"a.sluice", 5, 5};
    saved_view.visible = {0, 10};
    ASSERT_TRUE(gui::write_saved_view(view, saved_view));
    open(user, view);
    EXPECT_NE(app().notice().find("saved from another recording"), std::string::npos) << app().notice();
  });
}

}  // namespace
}  // namespace sluice::test
