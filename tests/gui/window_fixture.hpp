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

/// Fixture with a real window under Xvfb, driven by imgui_test_engine, and the sample recording at `path`.
class window_test : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  /// Closes the window before the test ends, so that the test can check what remains, such as files.
  void close_window();
  /// Runs `steps` as the user, while frames are drawn, until `steps` returns. A failed IM_CHECK fails the test.
  void use(std::function<void(ImGuiTestContext&)> steps);

  /// Draws frames until `done` returns true; returns false after a minute. Call outside of `use`, which replaces the
  /// display's mouse and keyboard.
  bool draw_until(const std::function<bool()>& done);
  /// Runs the window as the program does, asleep while nothing changes, until `done` (called after each frame) returns
  /// true; returns false after `most`. Then closes the window.
  bool run_until(const std::function<bool()>& done, std::chrono::milliseconds most);

  // For use in the steps passed to `use`.
  gui::application& app() { return window_->app(); }
  /// Draws frames until `done` returns true; returns false after a minute.
  static bool wait_until(ImGuiTestContext& user, const std::function<bool()>& done);
  /// Opens the sample and waits until it is drawn.
  void open_sample(ImGuiTestContext& user);
  /// Waits until all queries have results and no animation is running.
  void settle(ImGuiTestContext& user);
  /// All text that the window draws in one frame, in drawing order, as a screen reader would read it.
  std::string read(ImGuiTestContext& user);
  /// Writes a picture of the window to $SLUICE_TEST_PICTURES/NAME.png. Does nothing if the variable is not set.
  void take_picture(ImGuiTestContext& user, const std::string& name);
  /// Runs `work` on the window's thread after a frame, where its OpenGL context is current.
  void on_window_thread(ImGuiTestContext& user, std::function<void()> work);
  /// Resizes the window, as if the user dragged its corner.
  void resize(ImGuiTestContext& user, int width, int height);
  /// The point on the screen at `time` on the time axis, `down` pixels below the top of the tracks.
  ImVec2 get_place(time_ns time, float down);

  gui::platform_services around;  ///< Set before `SetUp`.
  const std::string path = test::own_path("window.sluice");
  std::string config_folder;                                           ///< If empty, settings are not saved.
  bool draws_pixels = std::getenv("SLUICE_TEST_PICTURES") != nullptr;  ///< Set before `SetUp`.
  bool stays_open = false;  ///< Do not fail if the window is closed, for steps that may close it by chance.

 private:
  std::unique_ptr<gui::window> window_;
  ImGuiTestEngine* engine_ = nullptr;
  std::function<void(ImGuiTestContext&)> steps_;
  std::string words_;
  bool listening_ = false;
  std::function<void()> work_;  ///< Runs on the window's thread after the next frame.
};

}  // namespace sluice::test
