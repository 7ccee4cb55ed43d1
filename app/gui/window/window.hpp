#pragma once

#include <functional>
#include <memory>
#include <string>

#include "app/gui/shell/application.hpp"

struct GLFWwindow;

namespace sluice::gui {

/// A window on the desktop (X11 or Wayland, both looked up when it opens) with an `application` in it. One at a time, on
/// the main thread.
class window {
 public:
  /// Fails with `unavailable` where there is no display or no OpenGL 3.3.
  [[nodiscard]] static result<std::unique_ptr<window>> create(application_options content);
  ~window();
  window(const window&) = delete;
  window& operator=(const window&) = delete;

  [[nodiscard]] application& app() { return *app_; }
  /// Draws frames until it is closed. Sleeps while nothing changes.
  void run();
  /// Takes what happened and draws one frame. False once it is to close.
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
