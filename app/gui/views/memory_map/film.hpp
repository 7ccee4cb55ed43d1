#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/query/types/result_types.hpp"

namespace sluice::gui {

/// The time range that a film plays repeatedly.
enum class film_loop : std::uint8_t { recording, step, range };

/// The clock of a film. It never runs ahead of what can be drawn: only after a moment has been drawn does the clock
/// advance, by the time that has passed since. If maps take long to compute, the film therefore slows down, and shows
/// all of the recording instead of skipping parts.
class film {
 public:
  void play() { playing_ = true, waited_ = 0; }
  void pause() { playing_ = false; }
  [[nodiscard]] bool playing() const { return playing_; }

  /// The next moment to show; nullopt if it is not due yet. `now`: the current moment. `over`: the range to repeat.
  /// `drawn`: the map of `now` is on the screen. `seconds`: the time since the last call.
  [[nodiscard]] std::optional<time_ns> advance(time_ns now, time_range over, bool drawn, double seconds);

  /// Speeds to choose from. Each is the share of the repeated range that passes per second.
  static constexpr double speeds[] = {1.0 / 120, 1.0 / 60, 1.0 / 30, 1.0 / 15, 1.0 / 8, 1.0 / 4};
  std::size_t speed = 2;
  film_loop loop = film_loop::recording;

 private:
  static constexpr double max_waited = 0.25;  ///< Limit, in seconds, on how much of the time spent waiting for a map
                                              ///< counts.
  bool playing_ = false;
  double waited_ = 0;  ///< Seconds since the film last advanced.
};

/// The step that contains `time`; if there is none, the next step; if there is none, the last step; nullopt if there
/// are no steps. `steps` must be sorted by time.
[[nodiscard]] std::optional<time_range> step_around(const std::vector<query::slice>& steps, time_ns time);

/// The start of the first step after `time` (if `forward`), or of the last step before `time`; nullopt if there is no
/// such step.
[[nodiscard]] std::optional<time_ns> neighbour_step(const std::vector<query::slice>& steps, time_ns time, bool forward);

}  // namespace sluice::gui
