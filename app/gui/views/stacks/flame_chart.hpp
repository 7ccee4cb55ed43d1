#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/gui/views/parts/item_menu.hpp"
#include "app/gui/views/stacks/flames.hpp"

namespace sluice::gui {

/// What a view says about the boxes of its flame graph.
struct flame_words {
  metrics::stack_weight weight = metrics::stack_weight::bytes;       ///< Determines the width of boxes.
  std::string total;                                                 ///< The sums of the whole tree, above the chart.
  std::function<std::string(const metrics::stack_metrics&)> metric;  ///< "312 MiB"
  /// Adds fields to the tooltip of a box, below its share of the whole. May be null.
  std::function<void(const metrics::stack_node&)> add_fields;
  /// The color of a line, an index into `stack_view::lines`, that is no code; none for code. May be null.
  std::function<std::optional<ImU32>(std::uint32_t line)> choose_colour;
  const char* colour_meaning = nullptr;  ///< The legend's text for the colors of `choose_colour`; null without it.
};

/// A flame graph of a `query::stack_view`: a line with the path to the zoomed frame and the legend, and below it the
/// boxes, with labels, tooltips and menus. A click zooms into a frame. The zoomed frame is the window's selection, so
/// that going back zooms out.
class flame_chart {
 public:
  void reset();
  /// Zooms to the selected frame.
  void follow_selection(const view_context& with);
  /// Draws the search field, and the share of `words.weight` in the frames found.
  void draw_search(const view_context& with, metrics::stack_weight weight);
  /// Draws into the rest of the current window.
  void draw(view_context& with, const std::shared_ptr<const query::stack_view>& view, const flame_words& words);
  /// The view drawn last; null before the first one.
  [[nodiscard]] const query::stack_view* shown() const { return shown_.get(); }

 private:
  /// The inputs of the boxes on the GPU. When they change, the boxes are rebuilt.
  struct drawn_state {
    std::uint32_t zoom = 0;
    metrics::stack_weight weight = metrics::stack_weight::bytes;
    float width = 0;
    float scale = 0;
    theme_kind theme = theme_kind::dark;
    std::string search;
    friend bool operator==(const drawn_state&, const drawn_state&) = default;
  };

  static void zoom_to(const view_context& with, std::uint64_t id);
  void draw_path(const view_context& with, const flame_words& words);
  void draw_legend(const view_context& with, const flame_words& words) const;
  [[nodiscard]] std::string get_short_name(std::uint32_t node) const;
  const std::vector<bool>& matches();
  [[nodiscard]] draw::box make_box(const view_context& with, const flame_words& words, const flame& each, float gap);
  void upload(const view_context& with, const flame_words& words, float width);
  void draw_chart(view_context& with, const flame_words& words, bool changed);
  void find_lit(const view_context& with);
  void draw_lit(const view_context& with, const draw::rectangle& area, ImDrawList& list) const;
  void draw_labels(const view_context& with, const flame_words& words, const draw::rectangle& area, ImDrawList& list);
  [[nodiscard]] std::string make_label(const flame_words& words, std::uint32_t node, float room) const;
  void hover(const view_context& with, const flame_words& words, const draw::rectangle& area, ImDrawList& list,
             bool clicked);
  void open_menu(const flame_words& words, std::uint32_t at);
  void tip(const view_context& with, const flame_words& words, std::uint32_t at) const;

  std::shared_ptr<const query::stack_view> shown_;
  std::string search_;
  std::uint64_t zoom_ = 0;    ///< The id of the zoomed frame; 0: the whole tree.
  std::uint32_t zoomed_ = 0;  ///< Index of the node with the id `zoom_`.
  std::vector<bool> matches_;
  std::vector<std::uint32_t> lit_;  ///< The nodes of the selected item's stack, sorted.
  std::uint64_t lit_version_ = 0;   ///< The `followed_item::version` of `lit_`.
  std::vector<flame> flames_;
  std::uint32_t rows_ = 0;
  draw::box_batch batch_;
  drawn_state drawn_;
  item_menu menu_;
};

}  // namespace sluice::gui
