#include "app/gui/views/memory_map/map_viewport.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "app/gui/views/parts/panel_parts.hpp"
#include "app/gui/views/parts/widgets.hpp"
#include "core/base/saturating.hpp"

namespace sluice::gui {
namespace {

struct order_choice {
  map_order order;
  const char* title;
};
constexpr std::array<order_choice, 3> orders = {
    {{map_order::address, "by address"}, {map_order::size, "by size"}, {map_order::free, "most free first"}}};

}  // namespace

void map_viewport::reset() {
  folded_.clear();
  fitted_ = true;
  line_bytes_ = 0;
  first_ = 0;
  laid_out_ = {};
  map_ = nullptr;
}

void map_viewport::toggle_fold(const map_group_key& group) {
  if (folded_.erase(group) == 0) folded_.insert(group);
}

void map_viewport::draw_order_combo(const view_context& with) {
  place_control(with.px(128));
  ImGui::SetNextItemWidth(with.px(128));
  const auto now = std::find_if(orders.begin(), orders.end(), [&](const auto& each) { return each.order == order_; });
  if (ImGui::BeginCombo("##order", now->title)) {
    for (const order_choice& each : orders)
      if (ImGui::Selectable(each.title, each.order == order_)) order_ = each.order;
    ImGui::EndCombo();
  }
}

// --- layout ---------------------------------------------------------------------------------------------------------

bool map_viewport::set_area(const view_context& with, const draw::rectangle& area, float row_height) {
  area_ = area;
  line_height_ = row_height;
  if (area_.width() < with.px(40) || area_.height() < line_height_) return false;
  fits_ = std::max<std::int64_t>(1, static_cast<std::int64_t>(area_.height() / line_height_));
  return true;
}

void map_viewport::lay_out(std::shared_ptr<const query::memory_map> map) {
  map_ = std::move(map);
  if (zoom_wanted_ != 1) zoom_about(zoom_wanted_, (area_.min.y + area_.max.y) * 0.5F);
  zoom_wanted_ = 1;
  if (fitted_ && (laid_out_.map != map_ || laid_out_.fits != fits_ || line_bytes_ == 0)) {
    // Keep the current row length if it differs only a little from the fitting one.
    const std::uint64_t fitting = fitting_line(*map_, fits_);
    if (fitting > line_bytes_ || fitting < line_bytes_ / 2) line_bytes_ = fitting;
  }
  const bool same = laid_out_.map == map_ && laid_out_.line_bytes == line_bytes_ && laid_out_.order == order_ &&
                    laid_out_.folded == folded_.size();
  if (!same) layout_.assign(*map_, line_bytes_, order_, folded_);
  laid_out_ = visible();
}

void map_viewport::zoom_about(double factor, float y) {
  if (layout_.lines() == 0 || line_bytes_ == 0) return;
  const auto wanted = saturating_cast<std::uint64_t>(static_cast<double>(line_bytes_) * factor);
  const std::uint64_t next = std::clamp(wanted, shortest_line, longest_line(*map_));
  if (next == line_bytes_) return;
  const auto below = static_cast<std::int64_t>((y - area_.min.y) / line_height_);
  const map_row* row = layout_.row_at(std::clamp<std::int64_t>(first_ + below, 0, layout_.lines() - 1));
  const bool heading = row->heading;
  const std::size_t segment = row->at;
  const std::uint64_t offset =
      heading ? 0 : layout_.piece(*row, std::max(row->first, first_ + below), UINT64_MAX).begin;
  fitted_ = false;
  line_bytes_ = next;
  layout_.assign(*map_, line_bytes_, order_, folded_);
  if (const auto line = heading ? std::optional<std::int64_t>() : layout_.get_line(segment, offset))
    first_ = *line - below;
}

void map_viewport::draw_scroll_bar(const view_context& with, float width) {
  const std::int64_t lines = layout_.lines();
  row_scroll_bar(with, {area_.max.x + with.px(4), area_.min.y}, {width, area_.height()}, lines, fits_, first_);
  first_ = std::clamp<std::int64_t>(first_, 0, std::max<std::int64_t>(0, lines - fits_));
}

std::int64_t map_viewport::end() const { return std::min(layout_.lines(), first_ + fits_ + 1); }

map_viewport::section map_viewport::visible() const {
  return {map_, line_bytes_, first_, fits_, area_.width(), order_, folded_.size()};
}

// --- positions ------------------------------------------------------------------------------------------------------

float map_viewport::to_x(std::uint64_t offset) const {
  return area_.min.x + static_cast<float>(static_cast<double>(offset) / static_cast<double>(layout_.bytes_per_line())) *
                           area_.width();
}

const query::address_segment* map_viewport::find_segment(trace::block_id id) const {
  if (map_ == nullptr) return nullptr;
  const auto found = std::find_if(map_->segments.begin(), map_->segments.end(),
                                  [id](const query::address_segment& each) { return each.block == id; });
  return found == map_->segments.end() ? nullptr : &*found;
}

/// The row that contains an address of a segment; nullopt if the segment's group is folded.
std::optional<std::int64_t> map_viewport::find_line(const query::address_segment& segment,
                                                    std::uint64_t address) const {
  return layout_.get_line(static_cast<std::size_t>(&segment - map_->segments.data()), address - segment.address);
}

std::optional<ImVec2> map_viewport::find_byte(trace::block_id segment, std::uint64_t address) const {
  const query::address_segment* found = find_segment(segment);
  if (found == nullptr || address < found->address) return std::nullopt;
  const auto line = find_line(*found, address);
  if (!line || *line < first_ || *line >= first_ + fits_) return std::nullopt;
  const map_row& row = *layout_.row_of(static_cast<std::size_t>(found - map_->segments.data()));
  const std::uint64_t offset = row.indent + (address - found->address) % layout_.bytes_per_line();
  return ImVec2(to_x(offset) + 1, to_y(*line) + line_height_ * 0.5F);
}

void map_viewport::scroll_to(const query::memory_map::place& block) {
  const query::address_segment* segment = find_segment(block.segment);
  if (segment == nullptr || block.address < segment->address) return;
  const auto line = find_line(*segment, block.address);
  if (line && (*line < first_ || *line >= first_ + fits_)) first_ = std::max<std::int64_t>(0, *line - fits_ / 2);
}

std::optional<map_spot> map_viewport::spot_at(ImVec2 mouse) const {
  if (mouse.y < area_.min.y || mouse.y >= area_.max.y) return std::nullopt;
  const std::int64_t line = first_ + static_cast<std::int64_t>((mouse.y - area_.min.y) / line_height_);
  const auto rows = layout_.rows_at(line);
  if (rows.empty() || rows.front().heading) return std::nullopt;
  if (mouse.x < area_.min.x) return map_spot{&map_->segments[rows.front().at]};
  const double share = static_cast<double>(mouse.x - area_.min.x) / static_cast<double>(area_.width());
  const auto across = saturating_cast<std::uint64_t>(share * static_cast<double>(layout_.bytes_per_line()));
  const auto row = std::find_if(rows.rbegin(), rows.rend(), [=](const map_row& each) { return each.indent <= across; });
  const query::address_segment& segment = map_->segments[row->at];
  const map_piece on_line = layout_.piece(*row, line, segment.bytes);
  const std::uint64_t offset = on_line.begin + (across - row->indent);
  if (offset >= on_line.end) return std::nullopt;
  return find_item(segment, segment.address + offset);
}

/// The item at an address, or the hole that contains the address.
map_spot map_viewport::find_item(const query::address_segment& segment, std::uint64_t address) const {
  const std::size_t at = item_at(segment, address);
  const auto& items = segment.items;
  // A very thin item also reacts to the mouse right next to the item.
  const auto reach = saturating_cast<std::uint64_t>(2.0 * static_cast<double>(layout_.bytes_per_line()) /
                                                    static_cast<double>(area_.width()));
  const auto take = [&](std::size_t i) {
    return map_spot{&segment, &items[i], items[i].address, items[i].address + items[i].bytes};
  };
  if (at < items.size() && items[at].address <= address) return take(at);
  if (at > 0 && address - (items[at - 1].address + items[at - 1].bytes) < reach && items[at - 1].bytes < 2 * reach)
    return take(at - 1);
  if (at < items.size() && items[at].address - address < reach && items[at].bytes < 2 * reach) return take(at);
  return {&segment, nullptr, at == 0 ? segment.address : items[at - 1].address + items[at - 1].bytes,
          at < items.size() ? items[at].address : segment.address + segment.bytes};
}

}  // namespace sluice::gui
