#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

struct GLFWwindow;

/// Showing frames on a display at the other end of a network (`ssh -X`), where each pixel has to be sent: only what
/// differs from the frame before is.
namespace sluice::gui {

/// Pixels of a picture, counted from its lower left corner.
struct pixel_area {
  int x = 0;
  int y = 0;
  int width = 0;
  int height = 0;
  bool operator==(const pixel_area&) const = default;
};

/// Where two pictures of the same size differ: bands of rows, from the lowest, each as narrow as its changes allow.
/// Bands are apart by at least 16 rows that do not differ. `before`, `now`: pixels, row by row. O(pixels).
[[nodiscard]] std::vector<pixel_area> changed_areas(std::span<const std::uint32_t> before,
                                                    std::span<const std::uint32_t> now, int width);

/// True if an X display of this name ("localhost:10.0") is reached over a network connection.
[[nodiscard]] bool is_remote_display(std::string_view name);

/// The frames of a window on a remote X display. Use on the thread of its GL context.
class remote_frames {
 public:
  /// True if frames can be shown in parts here: X11 through GLX, with GLX_MESA_copy_sub_buffer.
  [[nodiscard]] static bool available();
  /// Shows the frame that was drawn, `width` x `height` pixels. Reads it back first, which costs about 1 ms a megapixel.
  void show(GLFWwindow* window, int width, int height);
  /// The display lost what was shown: the next frames are sent whole.
  void forget() { whole_ = frames_after_loss; }

 private:
  /// Mesa learns the window's new size only when a frame is shown: the one before lies at the wrong place.
  static constexpr int frames_after_loss = 3;

  int whole_ = frames_after_loss;     ///< So many of the next frames are sent whole.
  std::vector<std::uint32_t> shown_;  ///< The last frame.
  std::vector<std::uint32_t> next_;
  int width_ = 0;
};

}  // namespace sluice::gui
