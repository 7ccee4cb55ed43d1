#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/gui/application/application.hpp"
#include "app/gui/window/remote_display.hpp"

struct GLFWwindow;

namespace sluice::gui {

/// Opens an invisible window as `window::create` does, and closes it again. Returns the names of the display and its
/// renderer, such as "X11 display :0, drawn by llvmpipe". Errors: those of `window::create`.
[[nodiscard]] result<std::string> try_window();

/// A desktop window (X11 or Wayland, whose libraries are loaded when it opens) that shows an `application`. Only one at
/// a time, on the main thread.
class window {
 public:
  /// Error `unavailable` if there is no display, or no OpenGL 3.3 on it.
  [[nodiscard]] static result<std::unique_ptr<window>> create(application_options content);
  ~window();
  window(const window&) = delete;
  window& operator=(const window&) = delete;

  [[nodiscard]] application& app() { return *app_; }
  /// Runs until the window is closed. Sleeps while nothing changes. Error `io` if the connection to the display is
  /// lost.
  [[nodiscard]] result<void> run();
  /// Processes events and draws one frame. Returns false once the window should close or its display is lost.
  bool step();

  /// Called each time a frame has appeared on the screen; for tests.
  std::function<void()> after_frame;

 private:
  window() = default;
  void wait();
  void note_input();
  void note_what_came();
  void take_scale();

  struct key_event {
    int key = 0, code = 0, action = 0, modifiers = 0;  ///< As GLFW reports them.
  };
  /// Passes a key event to ImGui. ImGui sees all events between two frames at once. If a user who types fast released a
  /// modifier before the key, the key would seem to be pressed without the modifier. Therefore the release of a
  /// modifier is delayed until the next frame.
  void take_key(const key_event& event);

  GLFWwindow* handle_ = nullptr;
  std::unique_ptr<application> app_;
  std::optional<remote_frames> remote_;  ///< Set only if the display is at the other end of a network.
  std::string title_;
  std::vector<key_event> late_keys_;  ///< Key events that are delayed until the next frame.
  bool key_pressed_ = false;          ///< A key that is not a modifier was pressed in this frame.
  int frames_wanted_ = 3;
  std::atomic<bool> woken_{false};  ///< Set by other threads when a result has arrived; reset when a frame is drawn.
  double last_input_ = 0;
  bool backends_ = false;
  bool lost_ = false;  ///< The connection to the display is lost.
};

}  // namespace sluice::gui
