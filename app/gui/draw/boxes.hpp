#pragma once

#include <cstdint>
#include <vector>

#include "app/gui/gl/program.hpp"
#include "core/query/types/result_types.hpp"
#include "imgui.h"

/// The renderer of the timeline's boxes. The boxes of a track are uploaded to the GPU once per query result, and drawn
/// with one call per frame, however many there are. Panning and zooming only change uniforms.
namespace sluice::gui::draw {

enum box_style : std::uint32_t {
  gap_after = 1,  ///< Leaves a pixel before the next box if there is space.
  hatched = 2,    ///< Marks estimated or untracked values.
  dimmed = 4,     ///< Marks provisional or filtered-out values.
  dot = 8,        ///< Draws a dot of fixed size, centered on the box's upper edge: a sample.
};

/// A box of a track. Times are in ns since the batch's origin. They are exact to a pixel up to a distance of a few view
/// widths from the origin.
struct box {
  float begin = 0;
  float end = 0;
  float low = 0;  ///< Height above the bottom of the track, in the track's own units; see `box_renderer::add`.
  float high = 0;
  ImU32 colour = 0;
  std::uint32_t style = 0;
};

/// Rounds heights to whole rows of pixels, as drawing does, and joins adjacent boxes without a style that have become
/// equal. The picture stays the same but has fewer boxes. A height of `units` is drawn as `rows` pixels. Boxes of the
/// same height must be sorted by time. O(boxes).
void simplify(std::vector<box>& boxes, float units, float rows);

struct rectangle {
  ImVec2 min;
  ImVec2 max;
  [[nodiscard]] float width() const { return max.x - min.x; }
  [[nodiscard]] float height() const { return max.y - min.y; }
  [[nodiscard]] bool contains(ImVec2 point) const {
    return point.x >= min.x && point.x < max.x && point.y >= min.y && point.y < max.y;
  }
};

/// The boxes of one track in GPU memory. Destroy this object while its GL context is current.
class box_batch {
 public:
  box_batch() = default;
  ~box_batch();
  box_batch(box_batch&& other) noexcept;
  box_batch& operator=(box_batch&& other) noexcept;

  /// Uploads the boxes; O(boxes). The caller may reuse `boxes` as soon as this returns.
  void assign(time_ns origin, const std::vector<box>& boxes);
  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] time_ns origin() const { return origin_; }

 private:
  friend class box_renderer;
  void grow();
  time_ns origin_ = 0;
  std::size_t count_ = 0;
  std::size_t capacity_ = 0;
  bool patterned_ = false;  ///< Some boxes are hatched or dimmed.
  unsigned vertex_array_ = 0;
  unsigned buffer_ = 0;
  unsigned indices_ = 0;
};

/// Draws box batches. Create one per GL context.
class box_renderer {
 public:
  /// Compiles the shaders. The GL context must be current.
  [[nodiscard]] result<void> start();

  /// Draws `batch` into `area`, clipped to the clip rectangle of `list` too. The time range `visible` spans the width
  /// of `area`; its height corresponds to `units` of the track's own units. The batch must exist until the frame is
  /// rendered.
  void add(ImDrawList& list, const box_batch& batch, const rectangle& area, time_range visible, float units,
           ImU32 background);

 private:
  struct call;
  static void run(const ImDrawList* list, const ImDrawCmd* command);
  static void render(const call& subject, const ImDrawCmd& command);

  struct shader {
    gl::program program;
    int origin_ns = -1;
    int pixels_per_ns = -1;
    int area = -1;
    int units = -1;
    int viewport = -1;
    int background = -1;
    int pitch = -1;
  };
  [[nodiscard]] static result<shader> build(std::string_view fragment);

  shader plain_;
  shader patterned_;  ///< Used for batches with hatched or dimmed boxes.
};

}  // namespace sluice::gui::draw
