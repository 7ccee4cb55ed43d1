#pragma once

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "app/gui/views/parts/view.hpp"
#include "core/query/types/memory_map.hpp"

namespace sluice::gui {

/// The colours of the blocks in the memory map (by layer, category or pool), and the legend.
class map_colours {
 public:
  /// Rebuilds the legend after a change of the map or of the colours. `map` may be null.
  void update(const view_context& with, const std::shared_ptr<const query::memory_map>& map);
  /// Discards the legend.
  void reset();
  /// The colour that the legend explains.
  [[nodiscard]] ImU32 colour(const view_context& with, const query::address_segment& segment,
                             const query::address_item& item) const;
  /// The fill colour of an item. `thin`: the item is too narrow for its own shade to be visible.
  [[nodiscard]] ImU32 fill(const view_context& with, const query::address_segment& segment,
                           const query::address_item& item, bool thin) const;
  [[nodiscard]] bool by_pool() const { return by_pool_; }
  /// True if the blocks of this layer have different names, which the map then shows.
  [[nodiscard]] bool shows_names(trace::layer layer) const { return named_[static_cast<std::size_t>(layer)]; }
  void draw_legend(const view_context& with) const;
  /// Draws the choice of the colours.
  void draw_combo(const view_context& with);

 private:
  /// The inputs of the legend. When they change, the legend is rebuilt.
  struct legend_key {
    std::shared_ptr<const query::memory_map> map;
    bool by_category = false;
    bool by_pool = false;
    theme_kind theme = theme_kind::dark;
    friend bool operator==(const legend_key&, const legend_key&) = default;
  };
  /// The text of a line of the legend, after the number by which the lines are sorted first.
  using ranked_label = std::pair<std::size_t, std::string>;
  [[nodiscard]] ranked_label label(const view_context& with, const query::address_segment& segment,
                                   const query::address_item& item) const;

  bool by_pool_ = false;
  std::vector<std::pair<std::string, ImU32>> legend_;
  legend_key key_;
  std::array<bool, trace::layer_count> named_{};
};

/// The share of an item's bytes that is in blocks, 0..1.
[[nodiscard]] float used_share(const query::address_item& item);

}  // namespace sluice::gui
