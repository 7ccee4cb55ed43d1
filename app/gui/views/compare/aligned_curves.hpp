#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "app/gui/draw/boxes.hpp"
#include "app/gui/views/view.hpp"
#include "app/gui/window/format.hpp"
#include "core/figures/comparison/comparison.hpp"

namespace sluice::gui {

/// What is put over one another: equal times since the beginning, or equal steps.
enum class alignment : std::uint8_t { time, step };

/// One side's curve, and where its axis begins.
struct aligned_side {
  query::engine* engine = nullptr;
  query::time_range range;                              ///< In its document's time.
  query::time_ns origin = 0;                            ///< Drawn at the left.
  const analysis::compared_side* about = nullptr;       ///< Its steps.
  const analysis::memory_statistics* memory = nullptr;  ///< The memory whose curve is drawn.
  std::string label;
  trace::process_id process{};  ///< Only its blocks; none: all.
};

/// Goes from places on a common axis to times of one side. Places are ns since the origin, or steps.
class axis_map {
 public:
  axis_map(const aligned_side& of, alignment by);
  [[nodiscard]] double place_of(query::time_ns time) const;
  [[nodiscard]] query::time_ns time_at(double place) const;

 private:
  std::vector<query::time_ns> begins_;  ///< Of each step that is known; then the end of the last.
  double stride_ = 1;                   ///< Steps from one of `begins_` to the next.
  double slope_ = 1;                    ///< ns a step outside of them.
  query::time_ns origin_ = 0;
};

/// Draws the memory of two sides over one another. Where the second is higher, the area between them is red; where it is
/// lower, blue.
class aligned_curves {
 public:
  void draw(view_context& with, const std::array<aligned_side, 2>& sides, alignment by, ImVec2 size);

  /// The colour of a side's curve: grey before, that of text after.
  [[nodiscard]] static ImU32 colour_of(std::size_t side, const theme& colours) {
    return side == 0 ? colours.muted : colours.text;
  }

  /// The bytes of a side in each pixel column of the last frame; negative where the side has ended. For tests.
  [[nodiscard]] const std::vector<double>& values(std::size_t side) const { return values_.at(side); }

 private:
  struct key {
    std::array<std::shared_ptr<const query::series>, 2> series;
    std::array<std::shared_ptr<const query::memory_groups>, 2> own;  ///< Of a side that is one process.
    std::array<query::time_range, 2> ranges;
    std::array<const void*, 2> memories{};
    alignment by = alignment::time;
    int width = 0;
    int height = 0;
    theme_kind theme = theme_kind::dark;
    friend bool operator==(const key&, const key&) = default;
  };
  void resample(const std::array<aligned_side, 2>& sides);
  void upload(const view_context& with);
  void upload_line(const view_context& with, std::size_t side);
  void draw_axes(const view_context& with, const draw::rectangle& area, const format::value_axis& values,
                 ImDrawList& list) const;
  void draw_tip(const view_context& with, const std::array<aligned_side, 2>& sides, const draw::rectangle& area,
                ImDrawList& list) const;
  [[nodiscard]] double place_at(double column) const {
    return first_ + (last_ - first_) * column / std::max(1.0, static_cast<double>(drawn_.width));
  }

  std::array<screen_slot<query::tracks_question>, 2> tracks_;
  std::array<screen_slot<query::series_question>, 2> questions_;
  std::array<screen_slot<query::memory_groups_question>, 2> own_questions_;
  key drawn_;
  std::array<std::vector<double>, 2> values_;
  double first_ = 0, last_ = 1;  ///< The ends of the axis, as places.
  double top_ = 1;               ///< The highest value.
  draw::box_batch between_;
  std::array<draw::box_batch, 2> lines_;
};

}  // namespace sluice::gui
