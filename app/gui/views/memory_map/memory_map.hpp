#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "app/gui/views/memory_map/film_player.hpp"
#include "app/gui/views/memory_map/holes_strip.hpp"
#include "app/gui/views/memory_map/map_colours.hpp"
#include "app/gui/views/memory_map/map_memories.hpp"
#include "app/gui/views/memory_map/memory_map_chart.hpp"
#include "app/gui/views/memory_map/memory_stepper.hpp"
#include "app/gui/views/parts/view.hpp"
#include "app/gui/views/timeline/memory_curve.hpp"

namespace sluice::gui {

inline constexpr panel_info memory_map_panel{.title = "Memory map",
                                             .scrolls = false,
                                             .uses_arrows = true,
                                             .offers_choices = true,
                                             .open = {"map.open", "Memory map at this moment", "Memory", nullptr}};

/// Shows the layout of memory at one moment: each segment as rows of addresses, with its blocks and the holes between
/// them to scale. The moment is the one that the user chose in the window; if there is none, the time of the peak, or
/// the end of a recording that is growing.
class memory_map_view final : public view {
 public:
  memory_map_view() : view(memory_map_panel) {}
  [[nodiscard]] panel_status status() const override {
    return {.busy = stepper_.busy() || waiting_, .playing = film_.playing()};
  }
  void add_commands(const command_home& home) override;
  void draw(view_context& with) override;
  void reset() override;
  /// Completes a step or the way to the peak, once the result of its query is available.
  void follow(const view_context& with) override;

  // For tests.
  /// The moment that is shown; nullopt until known.
  [[nodiscard]] std::optional<time_ns> moment() const { return moment_; }
  [[nodiscard]] std::shared_ptr<const query::memory_map> shown() const { return shown_; }
  /// Where in the window a byte of a segment was last drawn (the vertical middle of its row); nullopt if it is not
  /// visible.
  [[nodiscard]] std::optional<ImVec2> get_place(trace::block_id segment, std::uint64_t address) const {
    return chart_.viewport().find_byte(segment, address);
  }

 private:
  void choose_moment(const view_context& with);
  void go_to_peak(const view_context& with);
  [[nodiscard]] query::memory_map_query query(const view_context& with) const;
  void draw_controls(const view_context& with);
  void draw_moment(const view_context& with) const;
  void draw_choices(const view_context& with);
  void draw_strip(view_context& with);
  void draw_lost_selection(const view_context& with);
  bool draw_empty_state(const view_context& with) const;

  screen_slot<query::tracks_query> tracks_query_;
  screen_slot<query::memory_map_query> query_;
  screen_slot<query::details_query> selected_query_;
  map_memories memories_;
  std::optional<time_ns> moment_;
  bool peak_wanted_ = false;
  bool waiting_ = false;  ///< The last frame had no complete map, because its query was still running.
  std::shared_ptr<const query::memory_map> shown_;
  memory_curve curve_;
  memory_stepper stepper_;
  film_player film_;
  holes_strip holes_;
  map_colours colours_;
  memory_map_chart chart_;
};

}  // namespace sluice::gui
