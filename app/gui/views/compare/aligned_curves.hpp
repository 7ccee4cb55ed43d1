#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "app/gui/views/chart/view_charts.hpp"
#include "core/metrics/comparison/comparison.hpp"

namespace sluice::gui {

/// How two curves are aligned: by time since their start, or by step.
enum class alignment : std::uint8_t { time, step };

/// The curve of one side of a comparison, and where its axis starts.
struct aligned_side {
  query::engine* engine = nullptr;
  time_range range;                                    ///< In the time of the side's document.
  time_ns origin = 0;                                  ///< The time at the left edge.
  const metrics::compared_side* about = nullptr;       ///< Contains the side's steps.
  const metrics::memory_statistics* memory = nullptr;  ///< The memory whose curve is drawn.
  std::string label;
  trace::process_id process{};  ///< Show only the blocks of this process; none: blocks of all processes.
};

/// Converts between positions on the common axis and times of one side. Positions are either ns since the origin or
/// steps.
class axis_map {
 public:
  axis_map(const aligned_side& side, alignment by);
  [[nodiscard]] double get_place(time_ns time) const;
  [[nodiscard]] time_ns time_at(double place) const;

 private:
  std::vector<time_ns> begins_;  ///< Start of each known step, followed by the end of the last.
  double stride_ = 1;            ///< Number of steps from one entry of `begins_` to the next.
  double slope_ = 1;             ///< Number of ns per step outside the known steps.
  time_ns origin_ = 0;
};

/// Draws the memory of two sides on one axis. The area between the curves is red where the second side is higher, and
/// blue where it is lower.
class aligned_curves {
 public:
  void draw(view_context& with, const std::array<aligned_side, 2>& sides, alignment by, ImVec2 size);

  /// The colour of a side's curve: grey for "before", the text colour for "after".
  [[nodiscard]] static ImU32 choose_colour(std::size_t side, const theme& colours) {
    return side == 0 ? colours.muted : colours.text;
  }

  /// The bytes of a side in each pixel column of the last frame; negative in columns after the side's end. For tests.
  [[nodiscard]] const std::vector<double>& values(std::size_t side) const { return values_.at(side); }

 private:
  struct key {
    std::array<std::shared_ptr<const query::series>, 2> series;
    std::array<std::shared_ptr<const query::memory_groups>, 2> own;  ///< For sides that are a single process; otherwise
                                                                     ///< null.
    std::array<time_range, 2> ranges;
    std::array<const void*, 2> memories{};
    alignment by = alignment::time;
    int width = 0;
    theme_kind theme = theme_kind::dark;
    friend bool operator==(const key&, const key&) = default;
  };
  void resample(const std::array<aligned_side, 2>& sides);
  void make_chart(const theme& colours);
  [[nodiscard]] chart_tip describe(const view_context& with, const std::array<aligned_side, 2>& sides,
                                   double place) const;
  [[nodiscard]] double place_at(double column) const {
    return first_ + (last_ - first_) * column / std::max(1.0, static_cast<double>(drawn_.width));
  }

  std::array<screen_slot<query::tracks_query>, 2> tracks_;
  std::array<screen_slot<query::series_query>, 2> queries_;
  std::array<screen_slot<query::memory_groups_query>, 2> own_queries_;
  key drawn_;
  std::array<std::vector<double>, 2> values_;
  double first_ = 0, last_ = 1;  ///< The ends of the axis, as positions in the sense of `axis_map`.
  double top_ = 1;               ///< The highest value of both curves.
  chart_model chart_;            ///< Made when `drawn_` changes.
  float width_ = 0;              ///< Width of the chart's area in the last frame, in pixels.
  view_charts charts_;
};

}  // namespace sluice::gui
