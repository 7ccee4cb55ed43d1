#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "app/gui/views/timeline/track_row.hpp"

namespace sluice::gui {

/// Lines from the selected event or block to the events that its details link to: a call and the device work it caused,
/// a recorded event and the wait for it, a block and its touches.
class flow_lines {
 public:
  /// A line of the last frame, from the earlier event to the later one.
  struct flow {
    trace::event_id other{};
    ImVec2 from;
    ImVec2 to;
  };

  /// Starts a frame. Then: `add_row` for each row of the timeline, visible or not, and `draw`.
  void begin() { rows_.clear(); }
  void add_row(std::uint64_t track, float top, float height, const track_row* row) {
    rows_.push_back({track, top, height, row});
  }
  /// Events on rows that were not added have no line.
  void draw(const view_context& with, query::engine& from, const row_frame& where, ImDrawList& list);
  /// What `draw` drew; for tests.
  [[nodiscard]] const std::vector<flow>& drawn() const { return drawn_; }

 private:
  struct placed_row {
    std::uint64_t track = 0;
    float top = 0;
    float height = 0;
    const track_row* row = nullptr;
  };
  using details = query::answer<query::event_details>;
  [[nodiscard]] std::optional<float> middle_of(std::uint64_t track, trace::event_id event) const;
  /// `one` is selected, `two` is what it links to.
  void connect(const view_context& with, const query::event_details& one, const query::event_details& two,
               const row_frame& where, ImDrawList& list);

  /// At most so many lines; more could not be told apart.
  static constexpr std::size_t most = 8;
  std::vector<placed_row> rows_;
  query::slot<query::details_question> selected_;
  std::array<query::slot<query::details_question>, most> linked_;
  std::vector<flow> drawn_;
};

}  // namespace sluice::gui
