#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "app/gui/application/application.hpp"

struct GLFWwindow;

namespace sluice::browser {

/// The window, drawn on the page's canvas: the browser's counterpart of the desktop's gui::window. Create only one per
/// page, and use it on the page's main thread.
class canvas_window {
 public:
  /// Error `unavailable` if the browser has no WebGL 2.
  [[nodiscard]] static result<std::unique_ptr<canvas_window>> create(gui::application_options content);

  [[nodiscard]] gui::application& app() { return *app_; }
  /// Requests three frames, starting with the next animation frame.
  void draw_soon() { woken_.store(true, std::memory_order_release); }
  /// Called for each animation frame of the page: draws the window if its content may have changed.
  void step();

 private:
  canvas_window() = default;
  void take_size();
  void give_what_was_saved();

  GLFWwindow* handle_ = nullptr;
  std::unique_ptr<gui::application> app_;
  std::atomic<bool> woken_{true};
  std::string title_;
  int frames_wanted_ = 3;
  double last_drawn_ = 0;  ///< In seconds, like `last_input_`.
  double last_input_ = 0;
  int width_ = 0, height_ = 0;
};

}  // namespace sluice::browser
