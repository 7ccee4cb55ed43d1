#include "app/gui/views/memory_map/map_colours.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "app/gui/views/parts/widgets.hpp"
#include "app/gui/window/format.hpp"
#include "core/base/printable.hpp"
#include "core/index/labels.hpp"
#include "core/trace/model/names.hpp"

namespace sluice::gui {
namespace {

constexpr float min_for_legend = 240;  // design pixels that must remain in the panel for a legend in its own line

/// Assigns the colours of categories to pools, in the order of the pools' ids.
ImU32 pool_colour(const view_context& with, trace::pool_id pool) {
  if (pool == trace::pool_id::none) return with.colours.categories[0];
  return with.colours.categories[1 + (trace::raw(pool) - 1) % (index::category_count - 1)];
}

std::string pool_words(const view_context& with, trace::pool_id pool) {
  if (pool == trace::pool_id::none) return "no pool";
  return printable(index::pool_label(pool, with.state.active()->engine->snapshot()->tables()));
}

/// True if blocks are coloured by category and this block has one or could have one.
bool has_category_colour(const view_context& with, const query::address_item& item) {
  return with.state.memory_by_category &&
         (item.category.kind != index::category::none || index::holds_tensors(item.layer));
}

/// True for memory of the driver that is not on the device, such as pinned host memory.
bool has_kind_colour(const query::address_segment& segment, const query::address_item& item) {
  return item.layer == trace::layer::driver && segment.kind != trace::memory_kind::device &&
         segment.kind != trace::memory_kind::unknown;
}

}  // namespace

float used_share(const query::address_item& item) {
  return static_cast<float>(item.used) / static_cast<float>(std::max<std::uint64_t>(item.bytes, 1));
}

ImU32 map_colours::colour(const view_context& with, const query::address_segment& segment,
                          const query::address_item& item) const {
  if (by_pool_) return pool_colour(with, item.pool);
  if (has_category_colour(with, item)) return with.colours.categories[static_cast<std::size_t>(item.category.kind)];
  if (has_kind_colour(segment, item)) return with.colours.memory[static_cast<std::size_t>(segment.kind)];
  return with.colours.layers[static_cast<std::size_t>(item.layer)];
}

ImU32 map_colours::fill(const view_context& with, const query::address_segment& segment,
                        const query::address_item& item, bool thin) const {
  const ImU32 plain = colour(with, segment, item);
  if (item.count > 1 || thin) return mix(with.colours.pool_free, plain, 0.3F + 0.7F * used_share(item));
  if (by_pool_ || (with.state.memory_by_category && item.category.kind != index::category::none)) return plain;
  return with.colours.shade(plain, trace::raw(item.stack) != 0 ? trace::raw(item.stack) : trace::raw(item.name));
}

map_colours::ranked_label map_colours::label(const view_context& with, const query::address_segment& segment,
                                             const query::address_item& item) const {
  // Layers come first, then categories in their usual order. Pools are sorted by name.
  if (by_pool_) return {0, format::capital(pool_words(with, item.pool))};
  const auto layer = static_cast<std::size_t>(item.layer);
  if (has_category_colour(with, item))
    return {trace::layer_count + static_cast<std::size_t>(item.category.kind),
            format::capital(std::string(index::category_name(item.category.kind)))};
  if (has_kind_colour(segment, item)) return {layer, format::capital(std::string(get_name(segment.kind)))};
  return {layer, format::capital(std::string(get_label(item.layer)))};
}

void map_colours::reset() {
  legend_.clear();
  key_ = {};
}

void map_colours::update(const view_context& with, const std::shared_ptr<const query::memory_map>& map) {
  const legend_key now{map, with.state.memory_by_category, by_pool_, with.colours.kind};
  if (now == key_ || map == nullptr) return;
  key_ = now;
  std::map<ImU32, ranked_label> used;
  std::array<std::optional<trace::string_id>, trace::layer_count> names{};
  named_ = {};
  for (const query::address_segment& segment : map->segments)
    for (const query::address_item& item : segment.items) {
      auto& name = names[static_cast<std::size_t>(item.layer)];
      if (name && *name != item.name) named_[static_cast<std::size_t>(item.layer)] = true;
      name = item.name;
      const ImU32 shown = colour(with, segment, item);
      if (!used.contains(shown)) used.emplace(shown, label(with, segment, item));
    }
  std::vector<std::pair<ranked_label, ImU32>> sorted;
  sorted.reserve(used.size());
  for (const auto& [shown, text] : used) sorted.emplace_back(text, shown);
  std::sort(sorted.begin(), sorted.end());
  legend_.clear();
  for (auto& [text, shown] : sorted) legend_.emplace_back(std::move(text.second), shown);
  legend_.emplace_back("Free", with.colours.pool_free);
}

void map_colours::draw_legend(const view_context& with) const {
  ImGui::PushFont(nullptr, 13.0F);
  float width = 0;
  for (const auto& [label, colour] : legend_) width += ImGui::CalcTextSize(label.c_str()).x + with.px(15 + 12);
  ImGui::SameLine(0, with.px(12));
  // Draw the legend beside the choices if there is space; otherwise below them, if it takes at most one line of a tall
  // panel.
  if (ImGui::GetContentRegionAvail().x < width || legend_.empty()) {
    ImGui::NewLine();
    const ImVec2 room = ImGui::GetContentRegionAvail();
    if (legend_.empty() || room.x < width || room.y < with.px(min_for_legend)) return ImGui::PopFont();
  }
  ImGui::SetCursorPosX(ImGui::GetCursorPosX() + ImGui::GetContentRegionAvail().x - width);
  const float top = ImGui::GetCursorPosY();
  ImGui::AlignTextToFramePadding();
  for (const auto& [label, colour] : legend_) {
    ImGui::SetCursorPosY(top + ImGui::GetStyle().FramePadding.y);
    swatch(with, colour);
    ImGui::TextDisabled("%s", label.c_str());
    if (&label != &legend_.back().first) ImGui::SameLine(0, with.px(12));
  }
  ImGui::PopFont();
}

void map_colours::draw_combo(const view_context& with) {
  place_control(with.px(130));
  ImGui::SetNextItemWidth(with.px(130));
  const bool by_category = with.state.memory_by_category;
  if (ImGui::BeginCombo("##colours", by_pool_ ? "by pool" : by_category ? "by category" : "by layer")) {
    for (const bool category : {true, false})
      if (ImGui::Selectable(category ? "by category" : "by layer", !by_pool_ && category == by_category)) {
        by_pool_ = false;
        if (category != by_category) with.commands.invoke("timeline.by_category");
      }
    if (ImGui::Selectable("by pool", by_pool_)) by_pool_ = true;
    ImGui::EndCombo();
  }
}

}  // namespace sluice::gui
