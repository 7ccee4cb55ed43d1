#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "app/gui/application/application.hpp"
#include "app/gui/gl/offscreen.hpp"

namespace sluice::gui {

struct picture_options {
  int width = 1600;
  int height = 900;
  float scale = 1;
  theme_kind theme = theme_kind::dark;
};

/// The cost of one frame. All members are in seconds.
struct frame_cost {
  double whole = 0;          ///< Wall-clock time until the GL has finished.
  double processor = 0;      ///< CPU time of the process, including the threads of queries and of a software GL.
  double own_processor = 0;  ///< CPU time of this thread for building the frame, without that for drawing it.
};

/// Draws the window's content without a window or display server, for `sluice screenshot` and tests. Only one object at
/// a time, used on one thread.
class picture {
 public:
  /// Error `unavailable` if the machine cannot draw without a display.
  [[nodiscard]] static result<std::unique_ptr<picture>> create(const picture_options& options,
                                                               application_options content);
  ~picture();
  picture(const picture&) = delete;
  picture& operator=(const picture&) = delete;

  [[nodiscard]] application& app() { return *app_; }
  /// Draws one frame.
  frame_cost step();
  /// Clears the picture and draws one line of text into it, without the application, to measure the base cost of a
  /// frame on this machine. Returns the number of seconds until the GL has finished. Call after `step`.
  double step_empty();
  /// Runs frames until all queries are complete and nothing moves, but draws only the first and the last. Returns false
  /// if that takes longer than `seconds`. Progress of an import or summary restarts the time limit, because a large
  /// recording takes minutes.
  bool settle(double seconds);
  /// Moves the mouse to the position (`x`, `y`), in pixels.
  void move_mouse(float x, float y);
  /// The image of the last frame.
  [[nodiscard]] gl::image read() const { return context_->read(); }

 private:
  picture() = default;
  struct waker;
  void build();
  void draw();
  std::shared_ptr<waker> waker_;
  std::unique_ptr<gl::offscreen_context> context_;
  std::unique_ptr<application> app_;
  bool drawing_ = false;  ///< ImGui's OpenGL backend is initialized.
};

}  // namespace sluice::gui
