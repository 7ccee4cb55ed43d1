#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/gui/shell/application.hpp"
#include "app/gui/window/remote_display.hpp"

struct GLFWwindow;

namespace sluice::gui {

/// Opens an invisible window as `window::create` does, and closes it. Returns the display and what draws there, such as
/// "X11 display :0, drawn by llvmpipe". Errors as `window::create`.
[[nodiscard]] result<std::string> try_window();

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
  /// Runs until the window is closed. Sleeps while nothing changes. Error `io` if the display went away.
  [[nodiscard]] result<void> run();
  /// Processes events and draws one frame. Returns false once the window should close, or has lost its display.
  bool step();

  /// Called after each frame is on the screen; for tests.
  std::function<void()> after_frame;

 private:
  window() = default;
  void wait();
  void note_input();
  void note_what_came();
  void take_scale();

  struct key_event {
    int key = 0, code = 0, action = 0, modifiers = 0;  ///< As GLFW has them.
  };
  /// Gives a key to ImGui. ImGui sees all that happened between two frames at once: if a modifier is pressed, then a key,
  /// and the modifier is released first, as fast hands do, the key would be one without a modifier. So the release waits
  /// for the next frame.
  void take_key(const key_event& event);

  GLFWwindow* handle_ = nullptr;
  std::unique_ptr<application> app_;
  std::optional<remote_frames> remote_;  ///< If the display is at the other end of a network.
  std::string title_;
  std::vector<key_event> late_keys_;  ///< For the next frame.
  bool key_pressed_ = false;          ///< In this frame, a key that is no modifier.
  int frames_wanted_ = 3;
  std::atomic<bool> woken_{false};  ///< By any thread, since the last frame: an answer is there.
  double last_input_ = 0;
  bool backends_ = false;
  bool lost_ = false;  ///< The display went away.
};

}  // namespace sluice::gui
