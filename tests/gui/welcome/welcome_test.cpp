// The welcome screen: recording from it, what recording lacks, and the recent files.
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/gui/window_fixture.hpp"

namespace sluice::test {
namespace {

class welcome_screen : public window_test {
 protected:
  void SetUp() override {
    around.recording_problem = "No NVIDIA driver on this machine: recording here would see no GPU.";
    window_test::SetUp();
  }
  bool says(ImGuiTestContext& user, const std::string& words) {
    return wait_until(user, [&] { return read(user).find(words) != std::string::npos; });
  }
};

TEST_F(welcome_screen, says_what_recording_lacks_before_it_starts) {
  use([&](ImGuiTestContext& user) {
    EXPECT_TRUE(says(user, "No NVIDIA driver on this machine"));
    EXPECT_TRUE(says(user, "Record a program"));
    take_picture(user, "welcome");
    EXPECT_TRUE(says(user, "What is missing"));
    app().invoke("record.doctor");
    EXPECT_TRUE(says(user, "the fake machine has no driver")) << read(user);
    take_picture(user, "doctor");
    user.KeyPress(ImGuiKey_Escape);
    user.Yield(3);
    EXPECT_EQ(read(user).find("the fake machine"), std::string::npos) << "Escape closes the dialog";

    app().invoke("record.open");
    EXPECT_TRUE(says(user, "Call stacks"));
    EXPECT_TRUE(says(user, "No NVIDIA driver on this machine")) << "the dialog says it, too";
  });
}

TEST_F(welcome_screen, records_the_command_that_was_typed) {
  const std::string made = (std::filesystem::current_path() / "a-program-of-the-welcome-test.sluice").string();
  use([&](ImGuiTestContext& user) {
    user.ItemInput("//##base/**/##command");
    user.KeyCharsReplace("a-program-of-the-welcome-test --steps 3");
    user.ItemClick("//##base/**/Record");
    EXPECT_TRUE(wait_until(user, [&] { return app().recorder().running(); })) << app().notice();
    EXPECT_EQ(app().recorder().recording(), made);
    app().invoke("record.stop");
    EXPECT_TRUE(wait_until(user, [&] { return !app().recorder().running(); }));
  });
  std::filesystem::remove(made);
}

TEST_F(welcome_screen, lists_recent_files_with_their_verdict) {
  use([&](ImGuiTestContext& user) {
    app().remembered().add_recent(SLUICE_SOURCE_DIR "/assets/recordings/leak.sluice");
    EXPECT_TRUE(says(user, "GPU 4 % busy, peak 38.0 MiB of 140 GiB"));
    EXPECT_TRUE(says(user, "9.48 KiB"));
    take_picture(user, "welcome-recent");
    app().remembered().add_recent("/nowhere/gone.sluice");
    EXPECT_TRUE(says(user, "the file is missing"));
  });
}

TEST_F(welcome_screen, keeps_the_verdict_on_a_file_that_was_opened) {
  use([&](ImGuiTestContext& user) {
    const std::string file = SLUICE_SOURCE_DIR "/assets/recordings/leak.sluice";
    app().invoke("file.open_path", file);
    EXPECT_TRUE(wait_until(user, [&] { return app().remembered().find_verdict(file) != nullptr; }));
    EXPECT_EQ(app().remembered().find_verdict(file)->line.text, "GPU 4 % busy, peak 38.0 MiB of 140 GiB");
    EXPECT_EQ(app().remembered().find_verdict(file)->file.bytes, std::filesystem::file_size(file));
  });
}

TEST_F(welcome_screen, opens_a_recording_of_another_machine) {
  use([&](ImGuiTestContext& user) {
    app().invoke("record.elsewhere", std::string("python train.py"));
    EXPECT_TRUE(says(user, "Enter the machine"));
    user.ItemInput("//Record on another machine/##host");
    user.KeyCharsReplace("me@gpu1");
    EXPECT_TRUE(says(user, "ssh -t me@gpu1 'sluice record -o run.sluice -- python train.py'"));
    EXPECT_TRUE(says(user, "ssh://me@gpu1/~/run.sluice"));
    take_picture(user, "elsewhere");
    user.ItemClick("//Record on another machine/Cancel");
  });
}

}  // namespace
}  // namespace sluice::test
