#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>

#include "app/gui/window/window.hpp"
#include "imgui_te_context.h"
#include "imgui_te_engine.h"
#include "tests/gui/sample.hpp"

namespace sluice::test {

/// A real window under Xvfb, with the sample recording at `path` and the test engine to drive it.
class window_test : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  /// Closes the window before the test ends, to see what is left.
  void close_window();
  /// Runs `steps` as the user, frame by frame, until it returns. Failed IM_CHECKs fail the test.
  void use(std::function<void(ImGuiTestContext&)> steps);

  /// Draws frames until `done`, or a minute has passed; whether it was. Outside of `use`, which takes the place of the
  /// display's own mouse and keys.
  bool draw_until(const std::function<bool()>& done);
  /// Runs the window as the program does, asleep while nothing changes, until `done`, which is asked after each frame, or
  /// until `most` has passed; whether it was. Closes the window.
  bool run_until(const std::function<bool()>& done, std::chrono::milliseconds most);

  // For the steps.
  gui::application& app() { return window_->app(); }
  /// Frames until `done`, or a minute has passed; whether it was.
  static bool wait_until(ImGuiTestContext& user, const std::function<bool()>& done);
  /// Opens the sample and waits until it is drawn.
  void open_sample(ImGuiTestContext& user);
  /// Waits until every question is answered and nothing moves.
  void settle(ImGuiTestContext& user);
  /// Everything the window says in one frame, in the order it is drawn: what a screen reader would read out.
  std::string read(ImGuiTestContext& user);
  /// Writes the window to NAME.png in the folder $SLUICE_TEST_PICTURES, for people to look at. Nothing if it is not set.
  void take_picture(ImGuiTestContext& user, const std::string& name);
  /// Runs `work` on the window's thread after a frame, where its OpenGL context is current.
  void on_window_thread(ImGuiTestContext& user, std::function<void()> work);
  /// Gives the window another size, as a user who drags its corner.
  void resize(ImGuiTestContext& user, int width, int height);
  /// Where `time` is on the screen, `down` pixels below the top of the tracks.
  ImVec2 place_of(query::time_ns time, float down);

  const std::string path = test::own_path("window.sluice");
  std::string config_folder;                                           ///< Empty: nothing is remembered.
  bool draws_pixels = std::getenv("SLUICE_TEST_PICTURES") != nullptr;  ///< Set it before `SetUp`.
  bool stays_open = false;  ///< The window goes on when it is closed: for steps that may hit that by chance.

 private:
  std::unique_ptr<gui::window> window_;
  ImGuiTestEngine* engine_ = nullptr;
  std::function<void(ImGuiTestContext&)> steps_;
  std::string words_;
  bool listening_ = false;
  std::function<void()> work_;  ///< For the window's thread, after the next frame.
};

}  // namespace sluice::test
