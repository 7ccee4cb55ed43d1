#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/gui/views/parts/view.hpp"
#include "core/index/work/steps.hpp"
#include "core/metrics/report/report.hpp"
#include "core/query/types/idle_lanes.hpp"

namespace sluice::gui {

/// What a picture shows of one side.
struct pictured_side {
  time_range range;                ///< In the side's own time. The picture begins with it.
  std::vector<index::step> steps;  ///< The steps in it; empty if not both sides have steps.
};

/// Chooses up to three consecutive steps of each side: the same numbers from the middle of those that both have, else
/// from the middle of each side. The middle, because the first steps compile and fill caches. If a side has no steps,
/// both show their opening ranges. O(steps).
[[nodiscard]] std::array<pictured_side, 2> choose_pictured(
    const std::array<const std::vector<metrics::step_metrics>*, 2>& steps, const std::array<time_range, 2>& openings);

/// Three steps of each of two recordings below one another, from the beginning of a step, with one scale of time and one
/// of memory: the steps, the memory in use, and GPU work and idle time by cause.
class comparison_picture {
 public:
  /// One side of the picture. Everything must outlive the call of `draw`.
  struct side {
    const document* recording = nullptr;
    const metrics::report* report = nullptr;
    std::string name;
  };
  void draw(view_context& with, const std::array<side, 2>& sides, ImVec2 size);
  /// True if the last frame lacked results.
  [[nodiscard]] bool waiting() const { return waiting_; }
  /// For tests: what the last frame showed.
  [[nodiscard]] const std::array<pictured_side, 2>& shown() const { return shown_; }

 private:
  /// The place of a side's rows on the screen, in pixels.
  struct rows {
    float left = 0, right = 0;
    float steps = 0, memory = 0, work = 0, bottom = 0;  ///< The top of each row, and the end of the last one.
    double pixels_per_ns = 0;
    time_ns begin = 0;
    [[nodiscard]] float to_x(time_ns time) const {
      return left + static_cast<float>(static_cast<double>(time - begin) * pixels_per_ns);
    }
  };
  void ask(const std::array<side, 2>& sides, std::uint32_t width);
  void draw_side(const view_context& with, const side& of, std::size_t at, const rows& where);
  void draw_names(const view_context& with, const side& of, std::size_t at, const rows& where, float begin) const;
  void draw_steps(const view_context& with, std::size_t at, const rows& where) const;
  void draw_memory(const view_context& with, std::size_t at, const rows& where) const;
  void draw_work(const view_context& with, const side& of, std::size_t at, const rows& where) const;
  void draw_axis(const view_context& with, const rows& where, double length, float top, float bottom) const;
  void draw_tip(const view_context& with, std::size_t at, const rows& where) const;
  [[nodiscard]] const query::idle_lane* find_lane(const side& of, std::size_t at) const;

  std::array<screen_slot<query::tracks_query>, 2> tracks_;
  std::array<screen_slot<query::series_query>, 2> series_queries_;
  std::array<screen_slot<query::idle_lanes_query>, 2> lanes_queries_;
  std::array<std::shared_ptr<const query::series>, 2> series_;
  std::array<std::shared_ptr<const query::idle_lanes>, 2> lanes_;
  std::array<std::vector<double>, 2> bytes_;  ///< Of `series_`: the memory of the main peak, in each bin.
  std::array<pictured_side, 2> shown_;
  double top_ = 1;  ///< The most bytes of both sides.
  bool waiting_ = false;
};

}  // namespace sluice::gui
