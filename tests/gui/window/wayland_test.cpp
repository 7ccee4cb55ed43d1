// The program under Wayland: Weston runs in a window of the tests' X server, which provides keyboard and screen.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "app/gui/window/theme.hpp"
#include "tests/gui/display.hpp"
#include "tests/gui/sample.hpp"
#include "tests/gui/window/started_program.hpp"
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
    fs::permissions(folder_, fs::perms::owner_all);  // Otherwise Weston rejects the folder as unsafe.
    if (!start_weston({"--width=1560", "--height=960"})) GTEST_SKIP() << "skipped: no weston that starts";
    write_sample(recording_);
  }
  void TearDown() override {
    sluice_.stop(SIGTERM);
    weston_.stop(SIGTERM);
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
    fs::remove(recording_, ignored);
  }

  bool start_weston(const std::vector<std::string>& more) {
    weston_.stop(SIGTERM);
    const fs::path socket = folder_ / "sluice-test";
    std::error_code ignored;
    fs::remove(socket, ignored);
    std::vector<std::string> words{"weston",      "--backend=x11-backend.so", "--use-pixman",
                                   "--no-config", "--socket=sluice-test",     "--idle-time=0"};
    words.insert(words.end(), more.begin(), more.end());
    weston_ = started_program(words, {"XDG_RUNTIME_DIR=" + folder_.string()}, output_);
    return wait_for([&] { return fs::exists(socket) || weston_.ended(); }) && !weston_.ended();
  }
  void start_sluice(std::vector<std::string> words) {
    words.insert(words.begin(), SLUICE_BINARY_DIR "/sluice");
    sluice_ = started_program(words,
                              {"XDG_RUNTIME_DIR=" + folder_.string(), "WAYLAND_DISPLAY=sluice-test",
                               "DISPLAY=", "XDG_CONFIG_HOME=" + (folder_ / "config").string()},
                              output_);
  }

  /// The number of pixels on the screen with about this colour.
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
  const std::string output_ = (folder_ / "output.txt").string();
  std::unique_ptr<x_screen> screen_;
  started_program weston_;
  started_program sluice_;
};

TEST_F(wayland, window_draws_takes_keys_and_quits) {
  const gui::theme& dark = gui::get_theme(gui::theme_kind::dark);
  const gui::theme& light = gui::get_theme(gui::theme_kind::light);
  start_sluice({recording_});
  const ImU32 copies = dark.slice(query::slice_kind::h2d);
  EXPECT_TRUE(wait_for([&] { return count(copies) > 1000 || sluice_.ended(); })) << "the copies of the sample";
  ASSERT_FALSE(sluice_.ended()) << "it exited with status " << sluice_.exit_status();
  EXPECT_GT(count(dark.background), 100'000U);
  screen_->move_mouse(500, 400);
  const std::size_t raised = count(dark.raised);
  screen_->press("p", true);
  EXPECT_TRUE(wait_for([&] { return count(dark.raised) > raised + 20'000; })) << "the list of commands is open";
  for (const char* key : {"l", "i", "g", "h", "t"}) screen_->press(key);
  screen_->press("Return");
  EXPECT_TRUE(wait_for([&] { return count(light.background) > 100'000; })) << "the light theme was typed and chosen";
  screen_->press("q", true);
  EXPECT_TRUE(wait_for([&] { return sluice_.ended(); }));
  EXPECT_EQ(sluice_.exit_status(), 0);
}

// The kiosk shell makes each window as large as the screen, and ends programs with larger windows.
TEST_F(wayland, window_fits_a_screen_that_is_smaller_than_it_wants_to_be) {
  ASSERT_TRUE(start_weston({"--width=1000", "--height=700", "--shell=kiosk-shell.so"}));
  start_sluice({recording_});
  const ImU32 copies = gui::get_theme(gui::theme_kind::dark).slice(query::slice_kind::h2d);
  EXPECT_TRUE(wait_for([&] { return count(copies) > 500 || sluice_.ended(); }));
  ASSERT_FALSE(sluice_.ended()) << "it exited with status " << sluice_.exit_status();
  screen_->move_mouse(500, 400);
  screen_->press("q", true);
  EXPECT_TRUE(wait_for([&] { return sluice_.ended(); }));
  EXPECT_EQ(sluice_.exit_status(), 0);
}

// No demo is running: otherwise the window would ask before it closes.
TEST_F(wayland, window_ends_with_an_error_when_its_display_goes_away) {
  start_sluice({"--demo", "leak", "--device", "sim"});
  // The mark of the simulated device appears once the recording is shown.
  const ImU32 mark = gui::get_theme(gui::theme_kind::dark).warning;
  EXPECT_TRUE(wait_for([&] { return count(mark) > 10 || sluice_.ended(); }));
  ASSERT_FALSE(sluice_.ended()) << "it exited with status " << sluice_.exit_status();
  weston_.stop(SIGKILL);
  EXPECT_TRUE(wait_for([&] { return sluice_.ended(); }));
  EXPECT_EQ(sluice_.exit_status(), 1);
  std::ifstream output(output_);
  EXPECT_NE(std::string(std::istreambuf_iterator<char>(output), {}).find("the display was lost"), std::string::npos);
}

}  // namespace
}  // namespace sluice::test
