#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/query/answers/answer_types.hpp"

namespace sluice::gui {

/// Which time a film repeats.
enum class film_loop : std::uint8_t { recording, step, range };

/// The moments of a film, one after another. It never skips ahead of what can be shown: the next moment comes only after
/// the last one was drawn, as far on as time has passed since. Where maps take long the film goes slower, so that it
/// shows what lies between instead of jumping from one part of the recording to the next.
class film {
 public:
  void play() { playing_ = true, waited_ = 0; }
  void pause() { playing_ = false; }
  [[nodiscard]] bool playing() const { return playing_; }

  /// The next moment, if it is time for one. `seconds`: since the last call; `drawn`: the map of `now` is on the screen;
  /// `over`: what is repeated.
  [[nodiscard]] std::optional<query::time_ns> advance(query::time_ns now, query::time_range over, bool drawn,
                                                      double seconds);

  /// Each speed is a share of the repeated time that passes in a second.
  static constexpr double speeds[] = {1.0 / 120, 1.0 / 60, 1.0 / 30, 1.0 / 15, 1.0 / 8, 1.0 / 4};
  std::size_t speed = 2;
  film_loop loop = film_loop::recording;

 private:
  static constexpr double most_waited = 0.25;  ///< Seconds that count of the time in which a map is not drawn yet.
  bool playing_ = false;
  double waited_ = 0;  ///< Seconds since the last moment.
};

/// The step that contains `time`, else the next one, else the last; nullopt without steps. `steps` are in order of time.
[[nodiscard]] std::optional<query::time_range> step_around(const std::vector<query::slice>& steps, query::time_ns time);

/// The begin of the step after (or before) `time`; nullopt if there is none.
[[nodiscard]] std::optional<query::time_ns> neighbour_step(const std::vector<query::slice>& steps, query::time_ns time,
                                                           bool forward);

}  // namespace sluice::gui
