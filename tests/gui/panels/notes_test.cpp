// The panel of notes in a real window: they are kept beside the recording, or in the config folder if that is read-only;
// and a saved view opens where it was saved.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "app/gui/shell/side_files.hpp"
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
    auto found = gui::read_notes(at, gui::identity_of(*app().state().active()));
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
    run(user, "selection.range", query::time_range{2'000'000, 5'000'000});
    run(user, "notes.add", std::string("the copy that waits"));
    const auto notes = stored(gui::notes_path(recording));
    ASSERT_EQ(notes.size(), 1U);
    EXPECT_EQ(notes[0].range, (query::time_range{2'000'000, 5'000'000}));
    EXPECT_EQ(notes[0].text, "the copy that waits");
    EXPECT_NE(read(user).find("the copy that waits"), std::string::npos);
  });
}

TEST_F(notes_panel, edits_deletes_and_goes_from_note_to_note) {
  use([&](ImGuiTestContext& user) {
    open(user, recording);
    for (const query::time_ns at : {8'000'000, 3'000'000}) {
      run(user, "moment.set", query::time_range{at, at});
      run(user, "notes.add", std::string("at ") + std::to_string(at));
    }
    run(user, "notes.next");
    EXPECT_EQ(app().state().moment(), 8'000'000) << "the one after the one just made";
    run(user, "notes.next");
    EXPECT_EQ(app().state().moment(), 3'000'000) << "and around";
    run(user, "notes.edit", std::string("changed"));
    EXPECT_EQ(stored(gui::notes_path(recording))[0].text, "changed");
    run(user, "notes.delete");
    ASSERT_EQ(stored(gui::notes_path(recording)).size(), 1U);
    EXPECT_EQ(stored(gui::notes_path(recording))[0].text, "at 8000000");
  });
}

TEST_F(notes_panel, are_kept_in_the_config_folder_if_the_recording_is_read_only) {
  if (::geteuid() == 0) GTEST_SKIP() << "root writes everywhere";
  use([&](ImGuiTestContext& user) {
    open(user, recording);
    fs::permissions(folder + "/data", fs::perms::owner_read | fs::perms::owner_exec);
    run(user, "notes.add", std::string("kept"));
    EXPECT_EQ(stored(gui::notes_path_in(config_folder, recording)).at(0).text, "kept");
    EXPECT_NE(read(user).find("The folder of the recording cannot be written"), std::string::npos);
  });
}

TEST_F(notes_panel, says_why_a_file_of_notes_is_not_read_and_leaves_it_alone) {
  use([&](ImGuiTestContext& user) {
    { std::ofstream(gui::notes_path(recording)) << "no notes"; }
    open(user, recording);
    run(user, "panel.focus.Notes");
    EXPECT_NE(read(user).find("The notes are not read"), std::string::npos);
    run(user, "notes.add", std::string("lost?"));
    std::ifstream in(gui::notes_path(recording));
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), "no notes");
  });
}

TEST_F(notes_panel, opens_a_saved_view_where_it_was_saved) {
  use([&](ImGuiTestContext& user) {
    const std::string view = folder + "/data/mine.sluiceview";
    open(user, recording);
    run(user, "timeline.show", query::time_range{4'000'000, 9'000'000});
    run(user, "selection.range", query::time_range{5'000'000, 6'000'000});
    run(user, "view.save", view);
    ASSERT_TRUE(fs::exists(view));
    const query::time_range shown = app().state().active()->target;
    run(user, "file.close");
    open(user, view);
    ASSERT_NE(app().state().active(), nullptr);
    EXPECT_EQ(app().state().active()->path, recording);
    EXPECT_EQ(app().state().active()->target, shown);
    EXPECT_EQ(app().state().range(), (query::time_range{5'000'000, 6'000'000}));
    EXPECT_EQ(app().notice(), "");
  });
}

TEST_F(notes_panel, refuses_a_view_of_another_recording_of_that_name) {
  use([&](ImGuiTestContext& user) {
    const std::string view = folder + "/data/mine.sluiceview";
    gui::saved_view made;
    made.of = {"a.sluice", 5, 5};
    made.visible = {0, 10};
    ASSERT_TRUE(gui::write_saved_view(view, made));
    open(user, view);
    EXPECT_NE(app().notice().find("saved from another recording"), std::string::npos) << app().notice();
  });
}

}  // namespace
}  // namespace sluice::test
