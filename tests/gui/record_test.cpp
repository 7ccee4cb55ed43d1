// Recording a program from the window: the dialog, the process, and the resulting file.
#include <GLFW/glfw3.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "app/gui/shell/programs/recorder_process.hpp"
#include "app/processes/command_line.hpp"
#include "imgui_internal.h"
#include "tests/gui/window_fixture.hpp"

namespace sluice::test {
namespace {

using processes::joined_words;

TEST(record_words, are_those_of_sluice_record) {
  gui::record_request wanted;
  wanted.command = {"python", "train.py"};
  EXPECT_EQ(joined_words(gui::record_words(wanted, "x.sluice")),
            "record --mode memory --stacks python -o x.sluice -- python train.py");
  wanted.environment = {"A=1"};
  wanted.mode = "timeline";
  wanted.ring_bytes = 1024;
  wanted.find_duplicates = wanted.sources = true;
  EXPECT_EQ(joined_words(gui::record_words(wanted, "x.sluice")),
            "record --mode timeline --stacks python -o x.sluice --ring 1024 --find-duplicates --sources -- "
            "/usr/bin/env A=1 python train.py");
}

TEST(record_words, take_a_percent_sign_as_it_is) {
  gui::record_request wanted;
  wanted.command = {"a"};
  EXPECT_EQ(joined_words(gui::record_words(wanted, "/50%/a.sluice")),
            "record --mode memory --stacks python -o /50%%/a.sluice -- a");
}

class recording_places : public ::testing::Test {
 protected:
  recording_places() { std::filesystem::create_directories(folder); }
  ~recording_places() override { std::filesystem::remove_all(folder); }
  static std::string get_place(const std::string& program, const std::string& in) {
    gui::record_request wanted;
    wanted.command = {program};
    wanted.folder = in;
    const auto place = gui::recording_place(wanted);
    return place ? *place : place.error().to_string();
  }
  void make(const std::string& name) const { std::ofstream(folder / name) << "x"; }

  const std::filesystem::path folder = own_path("place");
};

TEST_F(recording_places, are_in_the_program_s_folder_under_a_name_that_is_free) {
  EXPECT_EQ(get_place("/usr/bin/python", folder), folder / "python.sluice");
  make("python.sluice");
  EXPECT_EQ(get_place("/usr/bin/python", folder), folder / "python-2.sluice");
  std::filesystem::create_symlink("/nowhere", folder / "python-2.sluice");
  EXPECT_EQ(get_place("/usr/bin/python", folder), folder / "python-3.sluice") << "a dangling link takes the name";
  EXPECT_EQ(get_place("python", ""), std::filesystem::current_path() / "python.sluice");
  EXPECT_EQ(get_place("/", folder), folder / "recording.sluice");
  EXPECT_LT(get_place(std::string(4000, 'x'), folder).size(), folder.string().size() + 255);
}

TEST_F(recording_places, are_in_the_user_s_data_folder_where_the_program_s_cannot_be_written) {
  // Root can write everywhere except to read-only mounts.
  std::string closed = (folder / "closed").string();
  std::filesystem::create_directory(closed);
  std::filesystem::permissions(closed, std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  if (access(closed.c_str(), W_OK) == 0) closed = "/proc/sys";
  if (access(closed.c_str(), W_OK) == 0) GTEST_SKIP() << "this user can write everywhere";
  const char* before = std::getenv("XDG_DATA_HOME");
  const std::string was = before == nullptr ? "" : before;
  setenv("XDG_DATA_HOME", folder.c_str(), 1);
  EXPECT_EQ(get_place("python", closed), folder / "sluice/python.sluice");
  if (was.empty()) {
    unsetenv("XDG_DATA_HOME");
  } else {
    setenv("XDG_DATA_HOME", was.c_str(), 1);
  }
}

// In the "closed" folder root has all permissions, but cannot create files.
TEST_F(recording_places, are_elsewhere_where_no_file_can_be_made) {
  setenv("XDG_DATA_HOME", folder.c_str(), 1);
  for (const char* in : {"/proc", "/proc/", "/proc/self"})
    EXPECT_EQ(get_place("python", in), folder / "sluice/python.sluice") << in;
  unsetenv("XDG_DATA_HOME");
  EXPECT_TRUE(std::filesystem::is_empty(folder)) << "the check leaves no files behind";
}

TEST_F(recording_places, need_a_folder_that_exists) {
  EXPECT_NE(get_place("python", folder / "none").find("no such folder"), std::string::npos);
}

class record_panel : public window_test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(folder);
    window_test::SetUp();
  }
  void TearDown() override {
    window_test::TearDown();
    std::filesystem::remove_all(folder);
  }
  /// Fills in the open dialog and starts "python 'train me.py'" in `folder`.
  void fill_and_start(ImGuiTestContext& user) {
    user.ItemInput("//Record a program/##command");
    user.KeyCharsReplace("python 'train me.py'");
    user.ItemInput("//Record a program/##folder");
    user.KeyCharsReplace(folder.c_str());
    user.ItemClick("//Record a program/Record");
    EXPECT_TRUE(wait_until(user, [&] { return app().recorder().running(); })) << app().notice();
  }
  /// Records "python 'train me.py'" in `folder`, and waits until the recording is shown.
  void record(ImGuiTestContext& user) {
    app().invoke("record.open");
    user.Yield(3);
    fill_and_start(user);
    EXPECT_TRUE(wait_until(user, [&] { return app().state().active() != nullptr && app().state().ready(); }));
    user.Yield(3);
  }
  bool says(ImGuiTestContext& user, const std::string& words) {
    return wait_until(user, [&] { return read(user).find(words) != std::string::npos; });
  }
  bool is_recent(const std::string& file) {
    const auto& whole = app().remembered().recent();
    return std::find(whole.begin(), whole.end(), file) != whole.end();
  }

  const std::filesystem::path folder = std::filesystem::absolute(own_path("works here"));
};

TEST_F(record_panel, records_a_program_shows_it_live_and_saves_a_copy) {
  use([&](ImGuiTestContext& user) {
    app().invoke("record.open");
    user.Yield(3);
    EXPECT_NE(read(user).find("Record a program"), std::string::npos);
    user.ItemInput("//Record a program/##command");
    user.KeyCharsReplace("python 'train me.py'");
    user.ItemInput("//Record a program/##folder");
    user.KeyCharsReplace(folder.c_str());
    EXPECT_TRUE(says(user, "sluice record --mode memory --stacks python -o python.sluice -- python 'train me.py'"))
        << "the command as for a terminal";
    EXPECT_TRUE(says(user, (folder / "python.sluice").string()));
    take_picture(user, "record");
    user.ItemClick("//Record a program/Record");
    EXPECT_TRUE(wait_until(user, [&] { return app().recorder().running(); }));
    EXPECT_TRUE(wait_until(user, [&] { return app().state().active() != nullptr && app().state().ready(); }));
    EXPECT_TRUE(app().live());
    user.Yield(3);
    EXPECT_FALSE(ImGui::FindWindowByName("Record a program")->WasActive) << "the dialog does not cover the recording";
    app().invoke("record.open");
    EXPECT_TRUE(wait_until(user, [&] { return app().recorder().output().find("[train me.py]") != std::string::npos; }));
    EXPECT_TRUE(wait_until(user, [&] { return read(user).find("[python][train me.py]") != std::string::npos; }))
        << "the program's output is shown";
    take_picture(user, "recording");
    EXPECT_FALSE(app().commands().enabled(*app().commands().find("file.save_as"))) << "it is still being written";

    app().invoke("record.stop");
    EXPECT_TRUE(wait_until(user, [&] { return !app().recorder().running() && !app().live(); }));
    const std::string copy = own_path("copy.sluice");
    app().invoke("file.save_as", copy);
    user.Yield(3);
    EXPECT_TRUE(std::filesystem::exists(copy)) << app().notice();
    EXPECT_EQ(std::filesystem::file_size(copy), std::filesystem::file_size(app().recorder().recording()));
    EXPECT_EQ(app().remembered().commands(), std::vector<std::string>{"python 'train me.py'"});
    EXPECT_TRUE(says(user, "Saved " + copy));
    std::filesystem::remove(copy);
  });
}

TEST_F(record_panel, keeps_the_recording_where_the_dialog_said) {
  const std::string file = (folder / "python.sluice").string();
  use([&](ImGuiTestContext& user) {
    record(user);
    EXPECT_EQ(app().recorder().recording(), file);
    EXPECT_TRUE(says(user, "Recording to " + file)) << "while it records";
    EXPECT_TRUE(is_recent(file));
    app().invoke("record.stop");
    EXPECT_TRUE(wait_until(user, [&] { return !app().recorder().running() && !app().live(); }));
    EXPECT_TRUE(says(user, "Recorded " + file)) << "and afterwards";
    app().invoke("file.close");
    user.Yield(3);
    EXPECT_TRUE(std::filesystem::exists(file));

    record(user);
    EXPECT_EQ(app().recorder().recording(), (folder / "python-2.sluice").string()) << "no file is replaced";
  });
  close_window();
  EXPECT_TRUE(std::filesystem::exists(file)) << "the file stays after the window is closed";
  EXPECT_TRUE(std::filesystem::exists(folder / "python-2.sluice")) << "also the recording that was still being written";
}

TEST_F(record_panel, asks_before_the_window_closes_while_a_program_is_recorded) {
  stays_open = true;
  use([&](ImGuiTestContext& user) {
    record(user);
    user.KeyPress(ImGuiMod_Ctrl | ImGuiKey_Q);
    EXPECT_TRUE(says(user, "The recording so far stays in " + app().recorder().recording()));
    take_picture(user, "quit");
    user.ItemClick("//Quit/Keep recording");
    user.Yield(3);
    EXPECT_TRUE(app().recorder().running());
    EXPECT_FALSE(app().wants_to_close());
    EXPECT_EQ(read(user).find("stays in"), std::string::npos);

    app().invoke("file.quit");
    user.Yield(3);
    user.KeyPress(ImGuiKey_Escape);
    user.Yield(3);
    EXPECT_EQ(read(user).find("stays in"), std::string::npos) << "Escape also keeps the recording";
    EXPECT_TRUE(app().recorder().running());

    on_window_thread(user, [] { glfwSetWindowShouldClose(glfwGetCurrentContext(), GLFW_TRUE); });
    EXPECT_TRUE(says(user, "stays in")) << "the same for the window's own button";
    user.ItemClick("//Quit/End the program and quit");
    EXPECT_TRUE(wait_until(user, [&] { return app().wants_to_close(); }));
    EXPECT_FALSE(app().recorder().running());
    EXPECT_EQ(app().recorder().exit_status(), 0) << "the recorder closed its recording";
    EXPECT_TRUE(std::filesystem::exists(folder / "python.sluice"));
  });
}

TEST_F(record_panel, offers_to_save_a_demo_s_recording_before_the_window_closes) {
  stays_open = true;
  use([&](ImGuiTestContext& user) {
    app().start_demo("quick");
    EXPECT_TRUE(wait_until(user, [&] { return !app().recorder().running() && app().state().ready(); }));
    EXPECT_TRUE(wait_until(user, [&] { return !app().live(); }));
    app().invoke("file.quit");
    user.Yield(3);
    EXPECT_FALSE(app().wants_to_close());
    EXPECT_NE(read(user).find("will be deleted when the window closes"), std::string::npos);
    user.ItemClick("//Quit/Cancel");
    user.Yield(3);
    EXPECT_FALSE(app().wants_to_close());
    EXPECT_NE(app().state().active(), nullptr);
    app().invoke("file.quit");
    user.Yield(3);
    user.ItemClick("//Quit/Save...");
    user.Yield(3);
    const std::string copy = (folder / "copy.sluice").string();
    user.ItemInput("//###path/##path_text");
    user.KeyCharsReplaceEnter(copy.c_str());
    EXPECT_TRUE(wait_until(user, [&] { return app().wants_to_close(); })) << app().notice();
    EXPECT_TRUE(std::filesystem::exists(copy));
  });
}

TEST_F(record_panel, asks_before_a_demo_s_recording_is_closed_and_lost) {
  use([&](ImGuiTestContext& user) {
    app().start_demo("quick");
    EXPECT_TRUE(wait_until(user, [&] { return !app().recorder().running() && app().state().ready(); }));
    EXPECT_TRUE(wait_until(user, [&] { return !app().live(); }));
    const std::string scratch = app().recorder().recording();
    user.KeyPress(ImGuiMod_Ctrl | ImGuiKey_W);
    user.Yield(3);
    EXPECT_NE(read(user).find("will be deleted when you close it"), std::string::npos);
    take_picture(user, "close");
    for (const char* way : {"the button", "Escape"}) {
      if (std::string_view(way) == "Escape") {
        user.KeyPress(ImGuiKey_Escape);
      } else {
        user.ItemClick("//Close/Cancel");
      }
      user.Yield(3);
      EXPECT_NE(app().state().active(), nullptr) << way;
      EXPECT_EQ(read(user).find("will be deleted when you close it"), std::string::npos) << way;
      user.KeyPress(ImGuiMod_Ctrl | ImGuiKey_W);
      user.Yield(3);
    }

    user.ItemClick("//Close/Save...");
    user.Yield(3);
    user.KeyPress(ImGuiKey_Escape);
    user.Yield(4);
    EXPECT_NE(app().state().active(), nullptr) << "not saved, therefore not closed";
    user.KeyPress(ImGuiMod_Ctrl | ImGuiKey_W);
    user.Yield(3);
    user.ItemClick("//Close/Save...");
    user.Yield(3);
    const std::string copy = (folder / "copy.sluice").string();
    user.ItemInput("//###path/##path_text");
    user.KeyCharsReplaceEnter(copy.c_str());
    EXPECT_TRUE(wait_until(user, [&] { return app().state().active() == nullptr; })) << app().notice();
    EXPECT_TRUE(std::filesystem::exists(copy));
    EXPECT_FALSE(std::filesystem::exists(scratch));
  });
}

TEST_F(record_panel, stops_a_demo_that_is_closed_while_it_runs) {
  use([&](ImGuiTestContext& user) {
    app().start_demo("endless");
    EXPECT_TRUE(wait_until(user, [&] { return app().recorder().running() && app().state().ready(); }));
    app().invoke("file.close");
    user.Yield(3);
    user.ItemClick("//Close/Discard");
    EXPECT_TRUE(wait_until(user, [&] { return !app().recorder().running(); }));
    EXPECT_EQ(app().state().active(), nullptr);
    EXPECT_EQ(app().notice(), "");
  });
}

TEST_F(record_panel, records_elsewhere_where_the_folder_takes_no_files_and_says_so) {
  setenv("XDG_DATA_HOME", folder.c_str(), 1);
  use([&](ImGuiTestContext& user) {
    app().invoke("record.open");
    user.Yield(3);
    user.ItemInput("//Record a program/##command");
    user.KeyCharsReplace("python 'train me.py'");
    user.ItemInput("//Record a program/##folder");
    user.KeyCharsReplace("/proc");
    const std::string file = (folder / "sluice/python.sluice").string();
    EXPECT_TRUE(says(user, "/proc is not writable: the recording goes to " + file));
    user.ItemClick("//Record a program/Record");
    EXPECT_TRUE(wait_until(user, [&] { return app().recorder().running(); })) << app().notice();
    EXPECT_EQ(app().recorder().recording(), file);
    EXPECT_TRUE(wait_until(user, [&] { return app().state().ready(); }));
    app().invoke("record.stop");
    EXPECT_TRUE(wait_until(user, [&] { return !app().recorder().running(); }));
  });
  unsetenv("XDG_DATA_HOME");
}

TEST_F(record_panel, stays_within_the_window_when_that_shrinks_and_scrolls_inside) {
  use([&](ImGuiTestContext& user) {
    resize(user, 1600, 1000);
    app().invoke("record.open");
    user.Yield(3);
    const char* const name = "Record a program";
    user.WindowMove("//Record a program", ImVec2(1500, 900));
    user.Yield(2);
    const auto is_inside = [&] {
      return ImRect({0, 0}, ImGui::GetIO().DisplaySize).Contains(ImGui::FindWindowByName(name)->Rect());
    };
    EXPECT_TRUE(is_inside()) << "when it is moved";
    resize(user, 480, 320);
    user.Yield(3);
    EXPECT_TRUE(is_inside());
    take_picture(user, "record-small");
    EXPECT_GT(ImGui::FindWindowByName(name)->ScrollMax.y, 0) << "the rest is reached by scrolling";
    fill_and_start(user);
    app().invoke("help.keys");
    user.Yield(3);
    EXPECT_TRUE(
        ImRect({0, 0}, ImGui::GetIO().DisplaySize).Contains(ImGui::FindWindowByName("Keyboard and mouse")->Rect()));
  });
}

TEST_F(record_panel, says_what_stop_does_to_the_program) {
  use([&](ImGuiTestContext& user) {
    record(user);
    user.MouseMove("//##toolbar/###record.stop");
    EXPECT_TRUE(says(user, "exit status 143"));
  });
}

TEST_F(record_panel, shows_what_the_program_writes_from_the_bar) {
  use([&](ImGuiTestContext& user) {
    record(user);
    EXPECT_EQ(read(user).find("[python][train me.py]"), std::string::npos);
    user.ItemClick("//##toolbar/###record.output");
    EXPECT_TRUE(says(user, "[python][train me.py]"));
    EXPECT_TRUE(says(user, app().recorder().recording()));
    resize(user, 480, 320);
    take_picture(user, "recording-small");
    user.MouseMove("//##toolbar/###record.stop");  // The stop button is on the screen, too.
  });
}

TEST_F(record_panel, says_what_is_wrong_with_a_command_line) {
  use([&](ImGuiTestContext& user) {
    app().invoke("record.open");
    user.Yield(3);
    user.ItemInput("//Record a program/##command");
    user.KeyCharsReplace("python 'train");
    user.Yield(2);
    EXPECT_NE(read(user).find("a quote is not closed"), std::string::npos);
    user.KeyPress(ImGuiKey_Escape);
    user.KeyPress(ImGuiKey_Escape);
    user.Yield(3);
    EXPECT_EQ(read(user).find("a quote is not closed"), std::string::npos) << "Escape closes the dialog";
  });
}

}  // namespace
}  // namespace sluice::test
