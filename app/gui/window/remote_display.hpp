#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

struct GLFWwindow;

/// Shows frames on a display at the other end of a network (`ssh -X`), over which each pixel must be sent. Therefore
/// only the parts that differ from the previous frame are sent.
namespace sluice::gui {

/// A rectangle of a picture, in pixels from its lower left corner.
struct pixel_area {
  int x = 0;
  int y = 0;
  int width = 0;
  int height = 0;
  bool operator==(const pixel_area&) const = default;
};

/// The areas in which two pictures of the same size differ: bands of rows, sorted from bottom to top, each as narrow as
/// its changes allow. Two bands are separated by at least 16 rows without changes. `before`, `now`: pixels, row by row.
/// O(pixels).
[[nodiscard]] std::vector<pixel_area> changed_areas(std::span<const std::uint32_t> before,
                                                    std::span<const std::uint32_t> now, int width);

/// True if the X display with this name ("localhost:10.0") is reached through a network connection.
[[nodiscard]] bool is_remote_display(std::string_view name);

/// The frames of a window on a remote X display. Use on the thread of the window's GL context.
class remote_frames {
 public:
  /// True if parts of a frame can be shown: X11 through GLX, with GLX_MESA_copy_sub_buffer.
  [[nodiscard]] static bool available();
  /// Shows the frame that was drawn, of `width` x `height` pixels. Reads the frame back first, which takes about 1 ms
  /// per megapixel.
  void show(GLFWwindow* window, int width, int height);
  /// Call when the display has lost its content: the next frames are then sent whole.
  void forget() { whole_ = frames_after_loss; }

 private:
  /// Number of frames to send whole, because Mesa learns the window's new size only when a frame is shown: until then,
  /// the previous frame is at the wrong place.
  static constexpr int frames_after_loss = 3;

  int whole_ = frames_after_loss;     ///< Number of the next frames that are still to be sent whole.
  std::vector<std::uint32_t> shown_;  ///< Pixels of the frame that was shown last.
  std::vector<std::uint32_t> next_;
  int width_ = 0;
};

}  // namespace sluice::gui
