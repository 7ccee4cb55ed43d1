// The program under Wayland: Weston, in a window of the tests' X server, where it has a keyboard and a screen to look at.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "app/gui/window/theme.hpp"
#include "tests/gui/display.hpp"
#include "tests/gui/sample.hpp"
#include "tests/gui/window/x_screen.hpp"

namespace sluice::test {
namespace {

namespace fs = std::filesystem;

class wayland : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(start_display()) << "no Xvfb: install the package xvfb";
    std::string why;
    screen_ = x_screen::open(why);
    if (screen_ == nullptr) GTEST_SKIP() << "skipped: " << why;
    fs::create_directories(folder_);
    fs::permissions(folder_, fs::perms::owner_all);  // Else Weston takes it for unsafe.
    weston_ = start({"weston", "--backend=x11-backend.so", "--use-pixman", "--no-config", "--socket=sluice-test",
                     "--width=1560", "--height=960", "--idle-time=0"},
                    {"XDG_RUNTIME_DIR=" + folder_.string()});
    int status = 0;
    if (!wait_for([&] { return fs::exists(folder_ / "sluice-test") || ended(weston_, status); }) || weston_ == 0)
      GTEST_SKIP() << "skipped: no weston that starts";
    write_sample(recording_);
  }
  void TearDown() override {
    for (pid_t* const each : {&sluice_, &weston_})
      if (*each > 0) {
        kill(*each, SIGTERM);
        waitpid(*each, nullptr, 0);
      }
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
    fs::remove(recording_, ignored);
  }

  void start_sluice(std::vector<std::string> words) {
    words.insert(words.begin(), SLUICE_BINARY_DIR "/sluice");
    sluice_ = start(words, {"XDG_RUNTIME_DIR=" + folder_.string(), "WAYLAND_DISPLAY=sluice-test",
                            "DISPLAY=", "XDG_CONFIG_HOME=" + (folder_ / "config").string()});
  }

  /// Starts a program that ends with this one. What it writes goes to `output`.
  pid_t start(const std::vector<std::string>& words, const std::vector<std::string>& environment) {
    const pid_t child = fork();
    if (child != 0) return child;
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    for (const std::string& each : environment) {
      const std::size_t equals = each.find('=');
      setenv(each.substr(0, equals).c_str(), each.c_str() + equals + 1, 1);
    }
    const int out = open((folder_ / "output.txt").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    dup2(out, STDOUT_FILENO);
    dup2(out, STDERR_FILENO);
    std::vector<char*> list;
    for (const std::string& each : words) list.push_back(const_cast<char*>(each.c_str()));
    list.push_back(nullptr);
    execvp(list[0], list.data());
    _exit(127);
  }
  static bool ended(pid_t& child, int& status) {
    if (child > 0 && waitpid(child, &status, WNOHANG) == child) child = 0;
    return child == 0;
  }
  static bool wait_for(const std::function<bool()>& done) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!done()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return true;
  }
  /// How many pixels of the screen have about this colour.
  [[nodiscard]] std::size_t count(ImU32 colour) const {
    const gui::gl::image shown = screen_->picture();
    std::size_t found = 0;
    for (std::size_t at = 0; at + 2 < shown.pixels.size(); at += 3) {
      bool same = true;
      for (std::size_t channel = 0; channel < 3; ++channel)
        same = same && std::abs(shown.pixels[at + channel] - static_cast<int>((colour >> (channel * 8)) & 0xFF)) <= 3;
      found += same ? 1 : 0;
    }
    return found;
  }

  const fs::path folder_ = fs::absolute(own_path("wayland"));
  const std::string recording_ = fs::absolute(own_path("wayland.sluice")).string();
  std::unique_ptr<x_screen> screen_;
  pid_t weston_ = 0;
  pid_t sluice_ = 0;
};

TEST_F(wayland, window_draws_takes_keys_and_quits) {
  const gui::theme& dark = gui::theme_of(gui::theme_kind::dark);
  const gui::theme& light = gui::theme_of(gui::theme_kind::light);
  start_sluice({recording_});
  int status = 0;
  const ImU32 copies = dark.slice(query::slice_kind::h2d);
  EXPECT_TRUE(wait_for([&] { return count(copies) > 1000 || ended(sluice_, status); })) << "the copies of the sample";
  ASSERT_GT(sluice_, 0) << "it ended with " << status;
  EXPECT_GT(count(dark.background), 100'000U);
  screen_->move_mouse(500, 400);
  const std::size_t raised = count(dark.raised);
  screen_->press("p", true);
  EXPECT_TRUE(wait_for([&] { return count(dark.raised) > raised + 20'000; })) << "the list of commands is open";
  for (const char* key : {"l", "i", "g", "h", "t"}) screen_->press(key);
  screen_->press("Return");
  EXPECT_TRUE(wait_for([&] { return count(light.background) > 100'000; })) << "the light theme was typed and chosen";
  screen_->press("q", true);
  EXPECT_TRUE(wait_for([&] { return ended(sluice_, status); }));
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

// A demo that runs would be asked about before the window closes.
TEST_F(wayland, window_ends_with_an_error_when_its_display_goes_away) {
  start_sluice({"--demo", "leak", "--device", "sim"});
  int status = 0;
  // The simulated device is marked once the recording is shown.
  const ImU32 mark = gui::theme_of(gui::theme_kind::dark).warning;
  EXPECT_TRUE(wait_for([&] { return count(mark) > 10 || ended(sluice_, status); }));
  ASSERT_GT(sluice_, 0) << "it ended with " << status;
  kill(weston_, SIGKILL);
  EXPECT_TRUE(wait_for([&] { return ended(sluice_, status); }));
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 1);
  std::ifstream output(folder_ / "output.txt");
  EXPECT_NE(std::string(std::istreambuf_iterator<char>(output), {}).find("the display went away"), std::string::npos);
}

}  // namespace
}  // namespace sluice::test
