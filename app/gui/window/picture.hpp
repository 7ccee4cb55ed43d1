#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "app/gui/gl/offscreen.hpp"
#include "app/gui/shell/application.hpp"

namespace sluice::gui {

struct picture_options {
  int width = 1600;
  int height = 900;
  float scale = 1;
  theme_kind theme = theme_kind::dark;
};

/// The window drawn without a window or a display server: what `sluice screenshot` shows, frame by frame. One at a time;
/// everything on one thread.
class picture {
 public:
  /// Fails with `unavailable` where nothing draws without a display.
  [[nodiscard]] static result<std::unique_ptr<picture>> create(const picture_options& options,
                                                               application_options content);
  ~picture();
  picture(const picture&) = delete;
  picture& operator=(const picture&) = delete;

  [[nodiscard]] application& app() { return *app_; }
  /// Draws one frame; returns the seconds it took, until the GL had finished.
  double step();
  /// Goes on until every question is answered and nothing moves. False when that took longer than `seconds`, not counting the time in
  /// which a recording that is imported or summed up first got further: a large one takes minutes. Of the frames until then only the first and the last are drawn.
  bool settle(double seconds);
  /// Puts the mouse there, in pixels.
  void move_mouse(float x, float y);
  /// What the last frame shows.
  [[nodiscard]] gl::image read() const { return context_->read(); }

 private:
  picture() = default;
  struct waker;
  void build();
  void draw();
  std::shared_ptr<waker> waker_;
  std::unique_ptr<gl::offscreen_context> context_;
  std::unique_ptr<application> app_;
  bool drawing_ = false;  ///< ImGui draws in the context.
};

}  // namespace sluice::gui
