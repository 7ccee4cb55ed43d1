#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "app/gui/views/memory_map/film.hpp"
#include "app/gui/views/parts/view.hpp"

namespace sluice::gui {

/// Plays the memory map as a film, by setting one moment after another: the commands, the controls, and the range of
/// time that is repeated.
class film_player {
 public:
  /// `shown_moment` returns the moment that the map shows; nullopt if none is known.
  void add_commands(const command_home& home, std::function<std::optional<time_ns>()> shown_moment);
  /// Stops the film, and discards the steps of the previous document.
  void reset();
  /// Queries the steps, and stops the film if the panel is hidden. Call once per frame in which the active document is
  /// ready, even if the panel is hidden.
  void follow(const view_context& with, const query::query_result<query::track_list>& tracks);
  /// Sets the next moment if it is due. `moment`: the moment that the map shows. `waiting`: the map of this moment is not
  /// complete yet. Call once per frame in which the panel is drawn.
  void advance(const view_context& with, std::optional<time_ns> moment, bool waiting);
  void draw_controls(const view_context& with, std::optional<time_ns> moment);

  [[nodiscard]] bool playing() const { return film_.playing(); }
  [[nodiscard]] bool shows_controls() const { return shows_controls_; }
  /// True while the film's maps take long to compute. No other long queries should run meanwhile.
  [[nodiscard]] bool slow() const { return slow_maps_; }

 private:
  void play(const command_registry& commands);
  void go_to_step(const command_home& home, bool forward) const;
  /// The range that the film repeats.
  [[nodiscard]] time_range range(const view_context& with, std::optional<time_ns> moment) const;

  film film_;
  bool shows_controls_ = false;
  int undrawn_ = 0;         ///< Number of frames that the film has played while the panel was hidden.
  float map_took_ = 0;      ///< Seconds since the film requested the next map, which has not been drawn yet.
  bool slow_maps_ = false;  ///< A map of the film took long to compute.
  screen_slot<query::slices_query> steps_query_;
  std::shared_ptr<const query::slice_list> steps_;
  std::function<std::optional<time_ns>()> shown_moment_;
};

}  // namespace sluice::gui
