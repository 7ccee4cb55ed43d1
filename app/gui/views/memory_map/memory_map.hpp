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
#include "core/query/results/panels/holes.hpp"

namespace sluice::gui {

/// Shows the layout of memory at one moment: each segment as rows of addresses, with its blocks and the holes between
/// them to scale. The moment is the one that the user chose in the window; if there is none, the time of the peak, or
/// the end of a recording that is growing.
class memory_map_view final : public view {
 public:
  [[nodiscard]] const char* name() const override { return "Memory map"; }
  [[nodiscard]] bool scrolls() const override { return false; }
  [[nodiscard]] bool uses_arrows() const override { return true; }
  [[nodiscard]] bool offers_choices() const override { return true; }
  void add_commands(const command_home& home) override;
  void draw(view_context& with) override;
  void reset() override;
  /// Completes a `step` once the result of its query is available.
  void follow(const view_context& with) override;
  [[nodiscard]] bool busy() const override { return stepping_.has_value() || waiting_; }

  [[nodiscard]] bool playing() const override { return film_.playing(); }

  // Functions for commands.
  /// Goes to the next (if `forward`) or previous allocation or free, once that event has been found; see `follow`.
  void step(bool forward);
  /// Multiplies the number of bytes per row by `factor`, and keeps the segment in the middle of the view there.
  void zoom(double factor);
  /// Chooses the number of bytes per row such that everything is visible, now and whenever the map changes.
  void fit() { fitted_ = true, line_bytes_ = 0; }

  // For tests.
  /// The moment that is shown; nullopt until known.
  [[nodiscard]] std::optional<time_ns> moment() const { return moment_; }
  [[nodiscard]] std::shared_ptr<const query::memory_map> shown() const { return shown_; }
  /// Where in the window a byte of a segment was last drawn (the vertical middle of its row); nullopt if it is not
  /// visible.
  [[nodiscard]] std::optional<ImVec2> place_of(trace::block_id segment, std::uint64_t address) const;

 private:
  struct memory {
    trace::device_id device{};  ///< None: host memory.
    std::uint64_t peak = 0;     ///< Peak of the layer with the highest peak, in bytes.
    time_ns when = 0;
    std::string label;
  };
  /// A part of a row on the screen, and the item drawn there.
  struct spot {
    const query::address_segment* segment = nullptr;
    const query::address_item* item = nullptr;  ///< Null for a hole.
    std::uint64_t begin = 0;                    ///< First address of the part; `end` is one past the last.
    std::uint64_t end = 0;
  };

  // What to show.
  void learn_memories(const view_context& with);
  [[nodiscard]] const memory* chosen() const;
  void choose_moment(const view_context& with);
  [[nodiscard]] query::memory_map_query query(const view_context& with) const;

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
  [[nodiscard]] time_range film_range(const view_context& with) const;
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
  /// The fill colour of an item. `thin`: the item is too narrow for its own shade to be visible.
  [[nodiscard]] ImU32 fill_of(const view_context& with, const query::address_segment& segment,
                              const query::address_item& item, bool thin) const;
  [[nodiscard]] float x_of(std::uint64_t offset) const;
  [[nodiscard]] float y_of(std::int64_t line) const {
    return lines_area_.min.y + line_height_ * static_cast<float>(line - first_);
  }
  [[nodiscard]] const query::address_segment* find_segment(trace::block_id id) const;

  screen_slot<query::report_query> peaks_query_;
  screen_slot<query::tracks_query> tracks_query_;
  screen_slot<query::memory_map_query> query_;
  screen_slot<query::details_query> hovered_query_;
  screen_slot<query::details_query> selected_query_;
  screen_slot<query::memory_step_query> step_query_;

  std::vector<memory> memories_;  ///< The memories to choose from, sorted by peak, highest first; host memory last.
  std::shared_ptr<const metrics::report> learned_;
  std::optional<trace::device_id> device_;  ///< The chosen device; none: the device with the most memory.
  std::optional<time_ns> moment_;
  bool peak_wanted_ = false;
  std::optional<bool> stepping_;  ///< Direction of a `step` that waits for its query: true is forward; none: no step.
  bool waiting_ = false;          ///< The last frame had no complete map, because its query was still running.
  std::shared_ptr<const query::memory_step> stepped_;  ///< The result of the last `step`.
  map_order order_ = map_order::address;
  memory_curve curve_;

  film film_;
  bool film_row_ = false;   ///< The film's controls are shown.
  int undrawn_ = 0;         ///< Number of frames that the film has played while the panel was hidden.
  float map_took_ = 0;      ///< Seconds since the film requested the next map, which has not been drawn yet.
  bool slow_maps_ = false;  ///< The film's maps take long to compute, so no other queries run meanwhile.
  bool by_pool_ = false;    ///< Color blocks by pool.
  screen_slot<query::slices_query> steps_query_;
  std::shared_ptr<const query::slice_list> steps_;
  screen_slot<query::holes_query> holes_query_;
  std::shared_ptr<const query::hole_curve> hole_curve_;

  std::shared_ptr<const query::memory_map> shown_;
  std::vector<std::pair<std::string, ImU32>> legend_;
  /// The inputs of the legend. When they change, the legend is rebuilt.
  struct legend_key {
    std::shared_ptr<const query::memory_map> map;
    bool by_category = false;
    bool by_pool = false;
    theme_kind theme = theme_kind::dark;
    friend bool operator==(const legend_key&, const legend_key&) = default;
  };
  legend_key legend_of_;
  std::array<bool, trace::layer_count> named_{};  ///< For each layer: its blocks have different names, which are shown;
                                                  ///< otherwise they are not shown.
  map_layout layout_;
  std::set<map_group_key> folded_;
  bool fitted_ = true;
  std::uint64_t line_bytes_ = 0;  ///< Number of bytes per row; 0 until known.
  std::int64_t first_ = 0;        ///< Number of the top row.
  selection revealed_;            ///< The selection to which the view has already scrolled, if that selection is on the
                                  ///< map.
  time_ns step_revealed_ = trace::unknown_time;
  double zoom_wanted_ = 1;
  row_menu menu_;

  // State of the last frame.
  draw::rectangle lines_area_{};  ///< Area of the rows.
  float header_width_ = 0;
  float line_height_ = 1;
  std::int64_t fits_ = 1;  ///< Number of rows that fit into the area.
  draw::box_batch batch_;
  std::vector<draw::box> holes_;
  std::vector<draw::box> blocks_;
  /// The inputs of the boxes on the GPU. When they change, the boxes are rebuilt.
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
