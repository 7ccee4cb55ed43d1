#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/error.hpp"

namespace sluice::gui::gl {

/// An image in memory: rows from top to bottom, three bytes (R, G, B) per pixel, no padding.
struct image {
  int width = 0;
  int height = 0;
  std::vector<std::uint8_t> pixels;
};

/// An OpenGL 3.3 core context with a color buffer but without a window or display server (EGL on Mesa's surfaceless
/// platform, loaded at run time). Use only on the thread that created this object, because the context is current
/// there.
class offscreen_context {
 public:
  /// Error `unavailable` if the machine has no libEGL or no driver for EGL.
  [[nodiscard]] static result<std::unique_ptr<offscreen_context>> create(int width, int height);
  ~offscreen_context();
  offscreen_context(const offscreen_context&) = delete;
  offscreen_context& operator=(const offscreen_context&) = delete;

  /// Makes the color buffer the target of subsequent draw calls.
  void bind() const;
  /// Returns the content of the color buffer, after waiting for the GL to finish.
  [[nodiscard]] image read() const;
  [[nodiscard]] int width() const { return width_; }
  [[nodiscard]] int height() const { return height_; }

 private:
  offscreen_context() = default;
  [[nodiscard]] result<void> start(int width, int height);

  void* library_ = nullptr;
  void* display_ = nullptr;
  void* context_ = nullptr;
  unsigned framebuffer_ = 0;
  unsigned colour_ = 0;
  int width_ = 0;
  int height_ = 0;
};

/// Returns the current content of `framebuffer` (0: the window's back buffer).
[[nodiscard]] image read_framebuffer(unsigned framebuffer, int width, int height);

/// The part of `whole` from (left, top) to (right, bottom), in pixels, clipped to the image. If the part is empty, all
/// of `whole`.
[[nodiscard]] image get_part(const image& whole, int left, int top, int right, int bottom);

}  // namespace sluice::gui::gl
