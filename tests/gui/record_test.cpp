// Recording a program from the window: the dialog, the process, and the file that is left.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "app/gui/shell/recorder_process.hpp"
#include "imgui_internal.h"
#include "tests/gui/window_fixture.hpp"

namespace sluice::test {
namespace {

using gui::joined_words;
using gui::split_words;

TEST(command_line, is_split_as_a_shell_does) {
  using words = std::vector<std::string>;
  EXPECT_EQ(split_words("python  train.py --lr 1e-3").value(), (words{"python", "train.py", "--lr", "1e-3"}));
  EXPECT_EQ(split_words(R"(a 'b c' "d e" f\ g)").value(), (words{"a", "b c", "d e", "f g"}));
  EXPECT_EQ(split_words(R"('it'"'"'s' '')").value(), (words{"it's", ""}));
  EXPECT_EQ(split_words("$HOME `ls` *").value(), (words{"$HOME", "`ls`", "*"})) << "nothing is expanded";
  EXPECT_EQ(split_words("   ").value(), words{});
  EXPECT_EQ(split_words("a 'b").error().code, error_code::invalid_argument);
}

TEST(command_line, survives_being_joined_and_split) {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"python", "train.py"}, {"a b", "c'd", "e\"f", "", "\\", "--x=1", "$y", "\n"}, {"~", "#", "a;b", "&"}})
    EXPECT_EQ(split_words(joined_words(words)).value(), words);
}

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

TEST(recordings_that_run, are_found_by_their_command_lines) {
  const std::string file = own_path("there.sluice");
  const pid_t child = fork();
  if (child == 0) {
    execl(SLUICE_BINARY_DIR "/tests/gui/fake_demo", "sluice", "record", "-o", file.c_str(), "--", "python",
          "train me.py", nullptr);
    _exit(1);
  }
  bool seen = false;
  int status = 0;
  while (!seen && waitpid(child, &status, WNOHANG) == 0)
    for (const gui::running_recording& each : gui::running_recordings())
      if (each.pid == static_cast<std::uint64_t>(child)) {
        seen = true;
        EXPECT_EQ(each.command, "python 'train me.py'");
        EXPECT_EQ(each.file, std::filesystem::absolute(file).lexically_normal().string());
      }
  EXPECT_TRUE(seen);
  kill(child, SIGTERM);
  if (seen) waitpid(child, &status, 0);
  std::filesystem::remove(file);
}

class record_panel : public window_test {};

TEST_F(record_panel, records_a_program_shows_it_live_and_saves_a_copy) {
  use([&](ImGuiTestContext& user) {
    app().invoke("record.open");
    user.Yield(3);
    EXPECT_NE(read(user).find("Record a program"), std::string::npos);
    user.ItemInput("//Record a program/##command");
    user.KeyCharsReplace("python 'train me.py'");
    user.Yield(2);
    EXPECT_NE(read(user).find("sluice record --mode memory --stacks python -o python.sluice -- python 'train me.py'"),
              std::string::npos)
        << "what a terminal would take";
    take_picture(user, "record");
    user.ItemClick("//Record a program/Record");
    EXPECT_TRUE(wait_until(user, [&] { return app().recorder().running(); }));
    EXPECT_TRUE(wait_until(user, [&] { return app().state().active() != nullptr && app().state().ready(); }));
    EXPECT_TRUE(app().live());
    user.Yield(3);
    EXPECT_FALSE(ImGui::FindWindowByName("Record a program")->WasActive) << "it does not cover what is recorded";
    app().invoke("record.open");
    EXPECT_TRUE(wait_until(user, [&] { return app().recorder().output().find("[train me.py]") != std::string::npos; }));
    EXPECT_TRUE(wait_until(user, [&] { return read(user).find("[python][train me.py]") != std::string::npos; }))
        << "what the program writes is shown";
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
    std::filesystem::remove(copy);
    const std::string scratch = app().recorder().recording();
    user.KeyPress(ImGuiKey_Escape);
    app().invoke("file.close");
    user.Yield(3);
    EXPECT_FALSE(std::filesystem::exists(scratch));
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
