#pragma once

#include <functional>
#include <memory>
#include <string>

#include "app/gui/shell/application.hpp"

struct GLFWwindow;

namespace sluice::gui {

/// A desktop window (X11 or Wayland, both loaded when it opens) that shows an `application`. One at a time, on the main
/// thread.
class window {
 public:
  /// Error `unavailable` if there is no display or no OpenGL 3.3.
  [[nodiscard]] static result<std::unique_ptr<window>> create(application_options content);
  ~window();
  window(const window&) = delete;
  window& operator=(const window&) = delete;

  [[nodiscard]] application& app() { return *app_; }
  /// Runs until the window is closed. Sleeps while nothing changes.
  void run();
  /// Processes events and draws one frame. Returns false once the window should close.
  bool step();

  /// Called after each frame is on the screen; for tests.
  std::function<void()> after_frame;

 private:
  window() = default;
  void wait();
  void note_input();
  void take_scale();

  GLFWwindow* handle_ = nullptr;
  std::unique_ptr<application> app_;
  std::string title_;
  int frames_wanted_ = 3;
  double last_input_ = 0;
  bool backends_ = false;
};

}  // namespace sluice::gui
