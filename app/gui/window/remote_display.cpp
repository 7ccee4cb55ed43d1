#include "app/gui/window/remote_display.hpp"

#include <GLFW/glfw3.h>

#include <algorithm>

#include "app/gui/gl/gl.hpp"

// These declarations are from GLFW/glfw3native.h, which requires the headers of X11.
extern "C" {
void* glfwGetX11Display();
unsigned long glfwGetGLXWindow(GLFWwindow* window);
}

namespace sluice::gui {
namespace {

/// Bands are separated by at least this many equal rows, because each band costs a request.
constexpr int min_rows_between = 16;

}  // namespace

std::vector<pixel_area> changed_areas(std::span<const std::uint32_t> before, std::span<const std::uint32_t> now,
                                      int width) {
  std::vector<pixel_area> areas;
  const auto columns = static_cast<std::size_t>(width);
  if (columns == 0) return areas;
  const std::size_t rows = std::min(before.size(), now.size()) / columns;
  for (std::size_t row = 0; row < rows; ++row) {
    const auto old_row = before.subspan(row * columns, columns);
    const auto new_row = now.subspan(row * columns, columns);
    const auto first = std::mismatch(old_row.begin(), old_row.end(), new_row.begin()).first - old_row.begin();
    if (first == width) continue;
    const auto behind =
        width - (std::mismatch(old_row.rbegin(), old_row.rend(), new_row.rbegin()).first - old_row.rbegin());
    const auto y = static_cast<int>(row);
    const auto left = static_cast<int>(first), right = static_cast<int>(behind);
    if (areas.empty() || y - (areas.back().y + areas.back().height) >= min_rows_between) {
      areas.push_back({left, y, right - left, 1});
      continue;
    }
    pixel_area& band = areas.back();
    const int band_right = std::max(band.x + band.width, right);
    band.x = std::min(band.x, left);
    band.width = band_right - band.x;
    band.height = y + 1 - band.y;
  }
  return areas;
}

bool is_remote_display(std::string_view name) {
  // The format is HOST:NUMBER. Without a host, with the host "unix", or with a path, the display is a local socket.
  const std::string_view host = name.substr(0, name.rfind(':'));
  return name.find(':') != std::string_view::npos && !host.empty() && host != "unix" && !host.starts_with('/');
}

bool remote_frames::available() {
  return glfwGetPlatform() == GLFW_PLATFORM_X11 && glfwExtensionSupported("GLX_MESA_copy_sub_buffer") == GLFW_TRUE &&
         glfwGetProcAddress("glXCopySubBufferMESA") != nullptr;
}

void remote_frames::show(GLFWwindow* window, int width, int height) {
  next_.resize(static_cast<std::size_t>(width) * static_cast<std::size_t>(height));
  glReadPixels(0, 0, width, height, GL_RGBA, GL_UNSIGNED_BYTE, next_.data());
  if (width != width_ || shown_.size() != next_.size()) forget();
  if (whole_ > 0) {
    --whole_;
    glfwSwapBuffers(window);
  } else {
    // A function of GLX_MESA_copy_sub_buffer, which copies a part of the back buffer to the window.
    using copy_function = void (*)(void* display, unsigned long drawable, int x, int y, int width, int height);
    const auto copy = reinterpret_cast<copy_function>(glfwGetProcAddress("glXCopySubBufferMESA"));
    for (const pixel_area& each : changed_areas(shown_, next_, width))
      copy(glfwGetX11Display(), glfwGetGLXWindow(window), each.x, each.y, each.width, each.height);
    glFlush();
  }
  width_ = width;
  shown_.swap(next_);
}

}  // namespace sluice::gui
