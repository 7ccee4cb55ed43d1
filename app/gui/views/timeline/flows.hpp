#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "app/gui/views/timeline/track_row.hpp"

namespace sluice::gui {

/// Lines that connect the selected event or block to the events that its details link to: a call and the device work
/// that it caused, a recorded CUDA event and the wait for that event, a block and its uses.
class flow_lines {
 public:
  /// A line that was drawn in the last frame, from the earlier event to the later event.
  struct flow {
    trace::event_id other{};
    ImVec2 from;
    ImVec2 to;
  };

  /// Starts a frame. Afterwards, call `add_row` for each row of the timeline, visible or not, and then `draw`.
  void begin() { rows_.clear(); }
  void add_row(std::uint64_t track, float top, float height, const track_row* row) {
    rows_.push_back({track, top, height, row});
  }
  /// Draws the lines. Omits lines to events on rows that were not added.
  void draw(const view_context& with, query::engine& engine, const row_frame& where, ImDrawList& list);
  /// The lines that were drawn in the last frame; for tests.
  [[nodiscard]] const std::vector<flow>& drawn() const { return drawn_; }

 private:
  struct placed_row {
    std::uint64_t track = 0;
    float top = 0;
    float height = 0;
    const track_row* row = nullptr;
  };
  using details = query::query_result<query::event_details>;
  [[nodiscard]] std::optional<float> find_middle(std::uint64_t track, trace::event_id event) const;
  /// Draws the line between `one`, which is selected, and `two`, to which `one` links.
  void connect(const view_context& with, const query::event_details& one, const query::event_details& two,
               const row_frame& where, ImDrawList& list);

  /// Maximum number of lines, because the user could not distinguish more.
  static constexpr std::size_t most = 8;
  std::vector<placed_row> rows_;
  query::slot<query::details_query> selected_;
  std::array<query::slot<query::details_query>, most> linked_;
  std::vector<flow> drawn_;
};

}  // namespace sluice::gui
