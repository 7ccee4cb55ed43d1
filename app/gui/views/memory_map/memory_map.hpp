#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "app/gui/views/memory_map/film.hpp"
#include "app/gui/views/memory_map/memory_map_layout.hpp"
#include "app/gui/views/row_menu.hpp"
#include "app/gui/views/timeline/memory_curve.hpp"
#include "app/gui/views/view.hpp"
#include "core/query/answers/panels/holes.hpp"

namespace sluice::gui {

/// Shows the layout of memory at one moment: each segment as lines of addresses, with its blocks and the holes between
/// them to scale. The moment is the one chosen for the window, else the peak, or the end of a growing recording.
class memory_map_view final : public view {
 public:
  [[nodiscard]] const char* name() const override { return "Memory map"; }
  [[nodiscard]] bool scrolls() const override { return false; }
  [[nodiscard]] bool uses_arrows() const override { return true; }
  [[nodiscard]] bool offers_choices() const override { return true; }
  void add_commands(const command_home& home) override;
  void draw(view_context& with) override;
  void reset() override;
  /// Completes a `step` once its query is answered.
  void follow(const view_context& with) override;
  [[nodiscard]] bool busy() const override { return stepping_.has_value() || waiting_; }

  [[nodiscard]] bool playing() const override { return film_.playing(); }

  // Functions for commands.
  /// Goes to the next or previous allocation or free, once it is found: see `follow`.
  void step(bool forward);
  /// Multiplies the length of lines by `factor`; keeps the segment in the middle of the view.
  void zoom(double factor);
  /// Chooses the line length so that everything is visible, now and whenever the map changes.
  void fit() { fitted_ = true, line_bytes_ = 0; }

  // For tests.
  /// The moment shown; nullopt until known.
  [[nodiscard]] std::optional<query::time_ns> moment() const { return moment_; }
  [[nodiscard]] std::shared_ptr<const query::memory_map> shown() const { return shown_; }
  /// Where a byte of a segment was last drawn in the window (vertical middle of its line); nullopt if not visible.
  [[nodiscard]] std::optional<ImVec2> place_of(trace::block_id segment, std::uint64_t address) const;

 private:
  struct memory {
    trace::device_id device{};  ///< None: host memory.
    std::uint64_t peak = 0;     ///< Bytes of the layer with the highest peak.
    query::time_ns when = 0;
    std::string label;
  };
  /// A part of a line on the screen, and the item drawn there.
  struct spot {
    const query::address_segment* segment = nullptr;
    const query::address_item* item = nullptr;  ///< Null for a hole.
    std::uint64_t begin = 0;                    ///< Addresses.
    std::uint64_t end = 0;
  };

  // What to show.
  void learn_memories(const view_context& with);
  [[nodiscard]] const memory* chosen() const;
  void choose_moment(const view_context& with);
  [[nodiscard]] query::memory_map_question question(const view_context& with) const;

  // Above the chart.
  void draw_controls(const view_context& with);
  void draw_moment(const view_context& with) const;
  void draw_choices(const view_context& with);
  void go_to_peak(const view_context& with);
  void draw_legend(const view_context& with) const;
  void draw_strip(view_context& with);
  void draw_lost_selection(const view_context& with);
  bool draw_empty_state(const view_context& with) const;

  // The film, in memory_map_film.cpp.
  void add_film_commands(const command_home& home);
  void reset_film();
  void follow_film(const view_context& with);
  void advance_film(const view_context& with);
  [[nodiscard]] query::time_range film_range(const view_context& with) const;
  void draw_film_controls(const view_context& with);
  void draw_holes(const view_context& with);
  [[nodiscard]] std::size_t layer_of_holes() const;
  [[nodiscard]] static ImU32 pool_colour(const view_context& with, trace::pool_id pool);
  [[nodiscard]] static std::string pool_words(const view_context& with, trace::pool_id pool);

  // The chart, in memory_map_chart.cpp.
  void draw_chart(view_context& with);
  void lay_out();
  void learn_legend(const view_context& with);
  void draw_ruler(const view_context& with) const;
  void draw_heading(const view_context& with, const map_row& row, float y);
  void draw_header(const view_context& with, const map_row& row, float y) const;
  void upload(const view_context& with);
  void upload_line(const view_context& with, const map_row& row, std::int64_t line);
  void draw_labels(const view_context& with) const;
  void draw_line_labels(const view_context& with, const map_row& row, std::int64_t line) const;
  void draw_marks(const view_context& with) const;
  void outline(const view_context& with, const query::memory_map::place& place, ImU32 colour) const;
  void handle_mouse(const view_context& with);
  void handle_wheel(const view_context& with);
  [[nodiscard]] std::optional<spot> spot_at(ImVec2 mouse) const;
  void hover(const view_context& with, const spot& at);
  void open_menu(const view_context& with, const spot& at);  ///< In memory_map_menu.cpp.
  void tip(const view_context& with, const spot& at);
  void tip_of_block(const view_context& with, const spot& at);
  void tip_of_segment(const view_context& with, const query::address_segment& segment) const;
  void scroll_to_marks(const view_context& with);
  void zoom_about(double factor, float y);

  [[nodiscard]] ImU32 colour_of(const view_context& with, const query::address_segment& segment,
                                const query::address_item& item) const;
  /// `thin`: too narrow for a shade of its own to be seen.
  [[nodiscard]] ImU32 fill_of(const view_context& with, const query::address_segment& segment,
                              const query::address_item& item, bool thin) const;
  [[nodiscard]] float x_of(std::uint64_t offset) const;
  [[nodiscard]] float y_of(std::int64_t line) const {
    return lines_area_.min.y + line_height_ * static_cast<float>(line - first_);
  }
  [[nodiscard]] const query::address_segment* find_segment(trace::block_id id) const;

  screen_slot<query::report_question> peaks_question_;
  screen_slot<query::tracks_question> tracks_question_;
  screen_slot<query::memory_map_question> question_;
  screen_slot<query::details_question> hovered_question_;
  screen_slot<query::details_question> selected_question_;
  screen_slot<query::memory_step_question> step_question_;

  std::vector<memory> memories_;  ///< Memories in use, highest peak first; the host's last.
  std::shared_ptr<const analysis::report> learned_;
  std::optional<trace::device_id> device_;  ///< The chosen device; none: the one with most memory.
  std::optional<query::time_ns> moment_;
  bool peak_wanted_ = false;
  std::optional<bool> stepping_;  ///< True: forward, false: backward.
  bool waiting_ = false;          ///< The last frame had no complete map, because its query was still running.
  std::shared_ptr<const query::memory_step> stepped_;  ///< The last step found.
  map_order order_ = map_order::address;
  memory_curve curve_;

  film film_;
  bool film_row_ = false;   ///< The controls of the film are shown.
  int undrawn_ = 0;         ///< Frames of a playing film in which the panel was hidden.
  float map_took_ = 0;      ///< Seconds since the film asked for the map that is not drawn yet.
  bool slow_maps_ = false;  ///< Maps of the film take long: nothing else is asked for meanwhile.
  bool by_pool_ = false;    ///< Colours are those of pools.
  screen_slot<query::slices_question> steps_question_;
  std::shared_ptr<const query::slice_list> steps_;
  screen_slot<query::holes_question> holes_question_;
  std::shared_ptr<const query::hole_curve> hole_curve_;

  std::shared_ptr<const query::memory_map> shown_;
  std::vector<std::pair<std::string, ImU32>> legend_;
  /// What the legend was made for; if this changes, the legend is made again.
  struct legend_key {
    std::shared_ptr<const query::memory_map> map;
    bool by_category = false;
    bool by_pool = false;
    theme_kind theme = theme_kind::dark;
    friend bool operator==(const legend_key&, const legend_key&) = default;
  };
  legend_key legend_of_;
  std::array<bool, trace::layer_count> named_{};  ///< Per layer: block names differ. If not, they are not shown.
  map_layout layout_;
  std::set<map_group_key> folded_;
  bool fitted_ = true;
  std::uint64_t line_bytes_ = 0;  ///< Length of a line; 0 if not known yet.
  std::int64_t first_ = 0;        ///< The top line.
  selection revealed_;            ///< The selection already scrolled to, if it is on the map.
  query::time_ns step_revealed_ = trace::unknown_time;
  double zoom_wanted_ = 1;
  row_menu menu_;

  // State of the last frame.
  draw::rectangle lines_area_{};  ///< Area of the bars.
  float header_width_ = 0;
  float line_height_ = 1;
  std::int64_t fits_ = 1;  ///< Number of lines that fit.
  draw::box_batch batch_;
  std::vector<draw::box> holes_;
  std::vector<draw::box> blocks_;
  /// What the boxes on the GPU were made for; if this changes, they are made again.
  struct drawn_state {
    std::shared_ptr<const query::memory_map> map;
    std::uint64_t line_bytes = 0;
    std::int64_t first = 0;
    std::int64_t fits = 0;
    float width = 0;
    float scale = 0;
    theme_kind theme = theme_kind::dark;
    bool by_category = false;
    bool by_pool = false;
    map_order order = map_order::address;
    std::size_t folded = 0;
    friend bool operator==(const drawn_state&, const drawn_state&) = default;
  };
  drawn_state drawn_;
};

}  // namespace sluice::gui
