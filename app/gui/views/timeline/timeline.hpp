#pragma once

#include <functional>
#include <map>
#include <set>

#include "app/gui/views/parts/item_menu.hpp"
#include "app/gui/views/parts/note_lists.hpp"
#include "app/gui/views/parts/search_hits.hpp"
#include "app/gui/views/timeline/axis_mouse.hpp"
#include "app/gui/views/timeline/event_stepper.hpp"
#include "app/gui/views/timeline/flows.hpp"
#include "app/gui/views/timeline/idle_strip.hpp"
#include "app/gui/views/timeline/lane_survey.hpp"
#include "app/gui/views/timeline/overview.hpp"
#include "app/gui/views/timeline/query_tracks.hpp"
#include "app/gui/views/timeline/steps_strip.hpp"
#include "app/gui/views/timeline/track_arrangement.hpp"
#include "app/gui/window/format.hpp"

namespace sluice::gui {

inline constexpr panel_info timeline_panel{
    .title = "Timeline", .place = panel_place::centre, .scrolls = false, .uses_arrows = true};

/// Shows the tracks of a recording on one time axis, below the overview and a ruler.
class timeline_view final : public view {
 public:
  /// `wake` must be callable from any thread. `notes` and `hits` are marked on the ruler.
  timeline_view(std::function<void()> wake, std::shared_ptr<const note_lists> notes,
                std::shared_ptr<const search_hits> hits)
      : view(timeline_panel), queries_(std::move(wake)), notes_(std::move(notes)), hits_(std::move(hits)) {}
  [[nodiscard]] panel_status status() const override {
    return {.busy = queries_.busy(), .hovered_time = axis_.hovered_time()};
  }
  void draw(view_context& with) override;
  void reset() override;
  void add_commands(const command_home& home) override;  ///< Defined in timeline_commands.cpp.

  /// The tracks in the order in which they are shown; for tests.
  [[nodiscard]] const track_layout& layout() const { return arrangement_.layout(); }
  [[nodiscard]] const std::optional<time_range>& measured() const { return axis_.measured(); }
  [[nodiscard]] const flow_lines& flows() const { return flows_; }
  void keep(document_id document, kept_view& into) const override;
  void restore(const view_context& with, const kept_view& source) override;
  /// The query tracks of a document; null if it has none.
  [[nodiscard]] const query_tracks* queries(document_id document) const { return queries_.find(document); }
  /// The area of the time axis in the last frame; tests use it to aim the mouse.
  [[nodiscard]] const draw::rectangle& axis_area() const { return axis_area_; }
  /// The tracks that were drawn at least partly in the last frame; for tests.
  [[nodiscard]] const std::vector<std::uint64_t>& tracks_on_screen() const { return on_screen_; }
  /// The idle time of devices as drawn in the last frame; for tests.
  [[nodiscard]] const idle_strips& idle() const { return idle_; }

 private:
  struct shared_row {
    std::unique_ptr<track_row> row;
  };
  /// Draws the steps below `y`; returns the y coordinate at which they end.
  float draw_steps(view_context& with, const query::track_list& tracks, const row_frame& where, float y);
  /// Draws the idle time of a device below `y`; returns the y coordinate at which it ends.
  float draw_idle(view_context& with, trace::device_id device, const row_frame& where, float y, row_hit& hit,
                  ImDrawList& list);
  void draw_losses(view_context& with, const query::track_list& tracks, const row_frame& where, ImDrawList& list);
  static void draw_provisional(const view_context& with, const query::track_list& tracks, const row_frame& place,
                               ImDrawList& list);
  void draw_notes(const view_context& with, const row_frame& where, ImDrawList& list) const;
  void draw_hits(const view_context& with, const row_frame& where, ImDrawList& list) const;
  void draw_ruler(view_context& with, const row_frame& where, const format::time_axis& axis);
  void draw_tracks(view_context& with, const query::track_list& tracks, const row_frame& where,
                   const format::time_axis& axis);
  float draw_group(view_context& with, const row_frame& where, float y, const std::string& key,
                   const std::string& title, std::string_view detail, ImDrawList& list);
  void draw_markers(view_context& with, const row_frame& where, ImDrawList& list);
  static void handle_arrows(const view_context& with);
  static void scroll_to(float begin, float to, const row_frame& where);
  /// Starts to look for the lane of the selected event when the selection changes, or if `reveals`.
  void seek(const view_context& with, const row_frame& where, bool reveals);
  /// Scrolls to the row of the selected event, and to its lane once the row has drawn it.
  void scroll_to_sought(const view_context& with, float y, float height, const track_row& row, const row_frame& where);
  static void draw_uses(const view_context& with, const row_frame& where, ImDrawList& list);
  /// `panel`: the height of the panel in design pixels. Defined in timeline_lanes.cpp, as are the next two functions.
  [[nodiscard]] memory_scale choose_scale(const placed_track& placed, float panel) const;
  /// Draws a line that names the empty lanes of a group. Returns the y coordinate below it.
  float draw_empty(const view_context& with, const row_frame& where, float y, const std::string& group,
                   const std::vector<std::string>& names, ImDrawList& list);
  void name_track(const view_context& with, const query::track& track, const row_frame& place);
  float draw_queries(view_context& with, const row_frame& where, float y, bool hovered, row_hit& hit, ImDrawList& list);
  void name_query(const view_context& with, const query_tracks::one& one);
  void add_query_commands(const command_home& home);  ///< Defined in timeline_queries.cpp.
  float draw_hidden(const view_context& with, const row_frame& where, float y, ImDrawList& list);
  void draw_track_menu(const view_context& with);  ///< Defined in timeline_menus.cpp, as are the next two functions.
  void open_menus(const view_context& with, const row_frame& where, const row_hit& hit);
  void open_menu_of(const view_context& with, const row_hit& hit);
  void zoom(documents& state, double factor) const;
  track_order& order(const documents& state);
  void add_track_commands(const command_home& home);  ///< Defined in timeline_commands.cpp.

  screen_slot<query::tracks_query> tracks_query_;
  screen_slot<query::report_query> report_query_;
  overview_strip overview_;
  std::map<std::uint64_t, shared_row> rows_;
  std::map<std::uint64_t, steps_strip> steps_;
  idle_strips idle_;
  lane_survey survey_;
  std::set<std::string> unfolded_;  ///< Keys of the groups whose empty lanes are drawn.
  std::set<std::string> folded_;    ///< Keys of the groups whose tracks are not drawn.
  track_arrangement arrangement_;
  open_query_tracks queries_;
  std::shared_ptr<const note_lists> notes_;
  std::shared_ptr<const search_hits> hits_;
  bool scroll_to_top_ = false;    ///< Scroll to the top in the next frame, because a track was added there.
  std::uint64_t menu_track_ = 0;  ///< Id of the track whose menu is open.
  item_menu menu_;
  flow_lines flows_;
  event_stepper stepper_;
  axis_mouse axis_;
  std::vector<std::uint64_t> on_screen_;
  /// The selected event, until the view has scrolled to its lane.
  struct {
    trace::event_id event{};
    std::uint64_t track = 0;
    int frames = 0;             ///< Give up after this many frames.
    std::uint64_t version = 0;  ///< See `followed_item::version`.
  } sought_;
  std::uint64_t revealed_ = 0;  ///< Number of the last `reveal_request` that this view handled.
  draw::rectangle axis_area_{};
  float header_width_ = 208;  // design pixels
};

}  // namespace sluice::gui
