// The chart of the memory map. Draws only the visible rows.
#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

#include "app/gui/views/memory_map/memory_map.hpp"
#include "app/gui/views/timeline/track_row.hpp"
#include "app/gui/views/widgets.hpp"
#include "app/gui/window/format.hpp"
#include "core/base/saturating.hpp"
#include "core/index/labels.hpp"
#include "core/trace/model/names.hpp"
#include "imgui_internal.h"

namespace sluice::gui {
namespace {

constexpr float line_height = 20;  // design pixels
constexpr float chart_ruler_height = 18;
constexpr float min_for_ruler = 90;
constexpr float across = 1'000'000;  // total width in units of the renderer, which was designed for times
constexpr float wide_header = 248;
constexpr float narrow_header = 84;
constexpr float min_for_wide = 640;

std::string title_of(const query::address_group& group) {
  const std::string layer = format::capital(std::string(name_of(group.layer)));
  return layer + (group.lone ? " blocks outside segments" : " segments");
}

std::string share_used(const query::address_totals& of) {
  return format_share(of.bytes == 0 ? 0 : static_cast<double>(of.used) / static_cast<double>(of.bytes));
}

float used_share(const query::address_item& of) {
  return static_cast<float>(of.used) / static_cast<float>(std::max<std::uint64_t>(of.bytes, 1));
}

std::string metrics_of(const query::address_group& group) {
  std::string text = format_count(group.segments) + " with " + format_bytes(group.bytes) + " in total";
  if (group.lone) return text;
  text += ",  " + share_used(group) + " used";
  if (group.used >= group.bytes) return text;
  return text + ",  " + format_bytes(group.bytes - group.used) + " free,  largest free " +
         format_bytes(group.largest_hole) + ",  fragmentation " + format_share(group.fragmentation());
}

}  // namespace

float memory_map_view::x_of(std::uint64_t offset) const {
  return lines_area_.min.x +
         static_cast<float>(static_cast<double>(offset) / static_cast<double>(layout_.bytes_per_line())) *
             lines_area_.width();
}

std::optional<ImVec2> memory_map_view::place_of(trace::block_id segment, std::uint64_t address) const {
  const query::address_segment* found = shown_ ? find_segment(segment) : nullptr;
  if (found == nullptr || address < found->address) return std::nullopt;
  const std::uint64_t offset = address - found->address;
  const auto line = layout_.line_of(static_cast<std::size_t>(found - shown_->segments.data()), offset);
  if (!line || *line < first_ || *line >= first_ + fits_) return std::nullopt;
  return ImVec2(x_of(offset % layout_.bytes_per_line()) + 1, y_of(*line) + line_height_ * 0.5F);
}

// --- colours --------------------------------------------------------------------------------------------------------

ImU32 memory_map_view::colour_of(const view_context& with, const query::address_segment& segment,
                                 const query::address_item& item) const {
  if (by_pool_) return pool_colour(with, item.pool);
  if (with.state.memory_by_category &&
      (item.category.what != index::category::none || index::holds_tensors(item.layer)))
    return with.colours.categories[static_cast<std::size_t>(item.category.what)];
  if (item.layer == trace::layer::driver && segment.kind != trace::memory_kind::device &&
      segment.kind != trace::memory_kind::unknown)
    return with.colours.memory[static_cast<std::size_t>(segment.kind)];
  return with.colours.layers[static_cast<std::size_t>(item.layer)];
}

ImU32 memory_map_view::fill_of(const view_context& with, const query::address_segment& segment,
                               const query::address_item& item, bool thin) const {
  const ImU32 colour = colour_of(with, segment, item);
  if (item.count > 1 || thin) return mix(with.colours.pool_free, colour, 0.3F + 0.7F * used_share(item));
  if (by_pool_ || (with.state.memory_by_category && item.category.what != index::category::none)) return colour;
  return with.colours.shade(colour, trace::raw(item.stack) != 0 ? trace::raw(item.stack) : trace::raw(item.name));
}

// --- the chart ------------------------------------------------------------------------------------------------------

void memory_map_view::draw_chart(view_context& with) {
  const ImVec2 origin = ImGui::GetCursorScreenPos();
  const ImVec2 room = ImGui::GetContentRegionAvail();
  const float bar = ImGui::GetStyle().ScrollbarSize;
  const float ruler = room.y >= with.px(min_for_ruler) ? with.px(chart_ruler_height) : 0;
  header_width_ = room.x >= with.px(min_for_wide) ? with.px(wide_header) : with.px(narrow_header);
  line_height_ = with.px(line_height);
  lines_area_ = {{origin.x + header_width_, origin.y + ruler},
                 {origin.x + room.x - bar - with.px(4), origin.y + room.y}};
  if (lines_area_.width() < with.px(40) || lines_area_.height() < line_height_) return;
  fits_ = std::max<std::int64_t>(1, static_cast<std::int64_t>(lines_area_.height() / line_height_));
  lay_out();
  scroll_to_marks(with);
  const std::int64_t lines = layout_.lines();
  row_scroll_bar(with, {lines_area_.max.x + with.px(4), lines_area_.min.y}, {bar, lines_area_.height()}, lines, fits_,
                 first_);
  first_ = std::clamp<std::int64_t>(first_, 0, std::max<std::int64_t>(0, lines - fits_));
  if (ruler > 0) draw_ruler(with);
  const drawn_state now{shown_,
                        line_bytes_,
                        first_,
                        fits_,
                        lines_area_.width(),
                        with.scale,
                        with.colours.kind,
                        with.state.memory_by_category,
                        by_pool_,
                        order_,
                        folded_.size()};
  if (!(now == drawn_)) {
    drawn_ = now;
    upload(with);
  }
  ImGui::SetCursorScreenPos({origin.x, lines_area_.min.y});
  ImGui::PushClipRect({origin.x, lines_area_.min.y}, lines_area_.max, true);
  const float shown_height = line_height_ * static_cast<float>(fits_ + 1);
  with.boxes.add(*ImGui::GetWindowDrawList(), batch_,
                 {lines_area_.min, {lines_area_.max.x, lines_area_.min.y + shown_height}},
                 {0, static_cast<time_ns>(across)}, static_cast<float>(fits_ + 1), with.colours.background);
  draw_labels(with);
  for (std::int64_t line = first_; line < std::min(lines, first_ + fits_ + 1);) {
    const map_row& row = *layout_.row_at(line);
    if (row.heading) {
      draw_heading(with, row, y_of(row.first));
    } else {
      draw_header(with, row, y_of(std::max(line, row.first)));
    }
    line = row.first + row.lines;
  }
  draw_marks(with);
  handle_mouse(with);
  ImGui::PopClipRect();
}

void memory_map_view::lay_out() {
  if (zoom_wanted_ != 1) zoom_about(zoom_wanted_, (lines_area_.min.y + lines_area_.max.y) * 0.5F);
  zoom_wanted_ = 1;
  if (fitted_ && (drawn_.map != shown_ || drawn_.fits != fits_ || line_bytes_ == 0)) {
    // Keep the current row length if it differs only a little from the fitting one.
    const std::uint64_t fitting = fitting_line(*shown_, fits_);
    if (fitting > line_bytes_ || fitting < line_bytes_ / 2) line_bytes_ = fitting;
  }
  const bool same = drawn_.map == shown_ && drawn_.line_bytes == line_bytes_ && drawn_.order == order_ &&
                    drawn_.folded == folded_.size();
  if (!same) layout_.assign(*shown_, line_bytes_, order_, folded_);
}

void memory_map_view::learn_legend(const view_context& with) {
  const bool by_category = with.state.memory_by_category;
  const legend_key now{shown_, by_category, by_pool_, with.colours.kind};
  if (now == legend_of_ || shown_ == nullptr) return;
  legend_of_ = now;
  std::map<ImU32, std::pair<std::size_t, std::string>> used;  // Position in the legend, and name.
  std::array<std::optional<trace::string_id>, trace::layer_count> names{};
  named_ = {};
  for (const query::address_segment& segment : shown_->segments)
    for (const query::address_item& item : segment.items) {
      const ImU32 colour = colour_of(with, segment, item);
      auto& name = names[static_cast<std::size_t>(item.layer)];
      if (name && *name != item.name) named_[static_cast<std::size_t>(item.layer)] = true;
      name = item.name;
      if (used.contains(colour)) continue;
      const bool tensors =
          by_category && (item.category.what != index::category::none || index::holds_tensors(item.layer));
      const bool host = item.layer == trace::layer::driver && segment.kind != trace::memory_kind::device &&
                        segment.kind != trace::memory_kind::unknown;
      const std::string label(by_pool_  ? pool_words(with, item.pool)
                              : tensors ? std::string(index::category_name(item.category.what))
                              : host    ? std::string(name_of(segment.kind))
                                        : std::string(name_of(item.layer)));
      // Layers come first, then categories in their usual order. Pools are sorted by name.
      const std::size_t place = by_pool_  ? 0
                                : tensors ? trace::layer_count + static_cast<std::size_t>(item.category.what)
                                          : static_cast<std::size_t>(item.layer);
      used.emplace(colour, std::pair(place, format::capital(label)));
    }
  legend_.clear();
  std::vector<std::pair<std::pair<std::size_t, std::string>, ImU32>> sorted;
  sorted.reserve(used.size());
  for (const auto& [colour, label] : used) sorted.emplace_back(label, colour);
  std::sort(sorted.begin(), sorted.end());
  for (auto& [label, colour] : sorted) legend_.emplace_back(std::move(label.second), colour);
  legend_.emplace_back("Free", with.colours.pool_free);
}

void memory_map_view::draw_ruler(const view_context& with) const {
  ImDrawList& list = *ImGui::GetWindowDrawList();
  ImGui::PushFont(nullptr, small_text);
  const float y = lines_area_.min.y - with.px(chart_ruler_height);
  int marks = 8;
  while (marks > 1 && lines_area_.width() / static_cast<float>(marks) < with.px(84)) marks /= 2;
  const std::string all = format_bytes(layout_.bytes_per_line()) + " per row";
  draw_text_until(list, {lines_area_.min.x - header_width_, y}, lines_area_.min.x - with.px(6), with.colours.muted,
                  all);
  for (int i = 0; i < marks; ++i) {
    const std::uint64_t offset =
        layout_.bytes_per_line() / static_cast<std::uint64_t>(marks) * static_cast<std::uint64_t>(i);
    const float x = std::floor(x_of(offset));
    list.AddLineV(x, lines_area_.min.y - with.px(5), lines_area_.min.y - 1, with.colours.muted);
    const std::string label =
        i == 0 ? std::string("0") : "+" + format::axis_value(static_cast<double>(offset), format::value_unit::bytes);
    draw_text_until(list, {x + with.px(4), y}, lines_area_.max.x, with.colours.muted, label);
  }
  list.AddLineH(lines_area_.min.x - header_width_, lines_area_.max.x, lines_area_.min.y - 1, with.colours.line);
  ImGui::PopFont();
}

void memory_map_view::draw_heading(const view_context& with, const map_row& row, float y) {
  const query::address_group& group = shown_->groups[row.at];
  ImDrawList& list = *ImGui::GetWindowDrawList();
  const float left = lines_area_.min.x - header_width_;
  const bool folded = folded_.contains(key_of(group));
  ImGui::SetCursorScreenPos({left, y});
  ImGui::PushID(static_cast<int>(row.at));
  if (ImGui::InvisibleButton("group", {lines_area_.max.x - left, line_height_})) {
    if (folded) {
      folded_.erase(key_of(group));
    } else {
      folded_.insert(key_of(group));
    }
  }
  ImGui::PopID();
  const ImU32 back = ImGui::IsItemHovered() ? with.colours.hover : with.colours.header;
  list.AddRectFilled({left, y}, {lines_area_.max.x, y + line_height_ - with.px(3)}, back);
  ImGui::PushFont(nullptr, 11.0F);
  list.AddText({left + with.px(6), std::floor(y + with.px(2))}, with.colours.muted, folded ? icon::fold : icon::unfold);
  ImGui::PopFont();
  std::string title = title_of(group);
  const auto same_process = [&](const query::address_group& other) { return other.process == group.process; };
  if (!std::all_of(shown_->groups.begin(), shown_->groups.end(), same_process))
    title += " of " + index::process_label(group.process, with.state.active()->engine->snapshot()->tables());
  float x = left + with.px(22);
  ImGui::PushFont(with.fonts.bold, 13.5F);
  draw_text_until(list, {x, y}, lines_area_.max.x, with.colours.text, title);
  x += ImGui::CalcTextSize(title.c_str()).x + with.px(12);
  ImGui::PopFont();
  std::string metrics = metrics_of(group);
  const auto of_group = [&](const query::address_segment& each) { return each.group == row.at; };
  const auto here =
      static_cast<std::uint64_t>(std::count_if(shown_->segments.begin(), shown_->segments.end(), of_group));
  if (here < group.segments) metrics += ";  the largest " + format_count(here) + " are shown";
  ImGui::PushFont(nullptr, 13.0F);
  draw_text_until(list, {x, y}, lines_area_.max.x - with.px(4), with.colours.muted, metrics);
  ImGui::PopFont();
}

void memory_map_view::draw_header(const view_context& with, const map_row& row, float y) const {
  const query::address_segment& segment = shown_->segments[row.at];
  ImDrawList& list = *ImGui::GetWindowDrawList();
  const float left = lines_area_.min.x - header_width_;
  const float right = lines_area_.min.x - with.px(10);
  const bool wide = header_width_ > with.px(narrow_header);
  const selection& chosen_one = with.state.selected();
  const bool selected = chosen_one.kind == selection_kind::block && chosen_one.id == trace::raw(segment.block);
  ImGui::PushFont(nullptr, 13.0F);
  const float text_y = std::floor(y + (line_height_ - with.px(3) - ImGui::GetTextLineHeight()) * 0.5F);
  const float share_left = wide ? right - with.px(40) : right;
  const std::string size = format_bytes(segment.bytes);
  const float size_left = share_left - ImGui::CalcTextSize(size.c_str()).x;
  draw_text_until(list, {std::max(left, size_left), text_y}, share_left + with.px(8),
                  selected ? with.colours.accent : with.colours.text, size);
  ImGui::PopFont();
  if (!wide) return;
  ImGui::PushFont(nullptr, small_text);
  draw_text_until(list, {left + with.px(6), text_y + 1}, size_left - with.px(8), with.colours.muted,
                  format_address(segment.address));
  if (!segment.lone) {
    const std::string share = share_used(segment);
    draw_text_until(list, {right - ImGui::CalcTextSize(share.c_str()).x, text_y + 1}, right + with.px(8),
                    with.colours.muted, share);
  }
  ImGui::PopFont();
}

// --- boxes ----------------------------------------------------------------------------------------------------------

void memory_map_view::upload(const view_context& with) {
  holes_.clear();
  blocks_.clear();
  for (std::int64_t line = first_; line < std::min(layout_.lines(), first_ + fits_ + 1); ++line) {
    const map_row& row = *layout_.row_at(line);
    if (!row.heading) upload_line(with, row, line);
  }
  // Draw the holes first, so that blocks narrower than a pixel remain visible.
  holes_.insert(holes_.end(), blocks_.begin(), blocks_.end());
  batch_.assign(0, holes_);
}

void memory_map_view::upload_line(const view_context& with, const map_row& row, std::int64_t line) {
  const query::address_segment& segment = shown_->segments[row.at];
  const map_piece piece = layout_.piece(row, line, segment.bytes);
  const std::uint64_t begin = segment.address + piece.begin;
  const std::uint64_t end = segment.address + piece.end;
  // The rows of one segment are close together; segments are further apart.
  const float gap = with.px(line + 1 == row.first + row.lines ? 4 : 1) / line_height_;
  const float high = static_cast<float>(fits_ + 1 - (line - first_));
  const auto put = [&](std::vector<draw::box>& into, std::uint64_t from, std::uint64_t to, ImU32 colour,
                       std::uint32_t style) {
    const double scale = static_cast<double>(across) / static_cast<double>(layout_.bytes_per_line());
    into.push_back({static_cast<float>(static_cast<double>(from - begin) * scale),
                    static_cast<float>(static_cast<double>(to - begin) * scale), high - 1 + gap, high, colour, style});
  };
  // Join adjacent blocks that are thinner than two pixels and look about the same, because with a million blocks one
  // box for each would take most of a frame.
  const float width = std::max(1.0F, lines_area_.width());
  const std::uint64_t pixel = layout_.bytes_per_line() / static_cast<std::uint64_t>(width);
  constexpr float same_share = 0.1F;  // maximum difference in the share of used bytes
  struct {
    ImU32 colour = 0;
    float share = 0;
    std::uint64_t end = 0;  ///< 0: there is no box to extend.
  } run;
  std::uint64_t reached = begin;
  for (std::size_t i = item_at(segment, begin); i < segment.items.size() && segment.items[i].address < end; ++i) {
    const query::address_item& item = segment.items[i];
    const std::uint64_t from = std::max(item.address, begin);
    const std::uint64_t to = std::min(item.address + item.bytes, end);
    const bool thin = to - from < 2 * pixel;
    const ImU32 colour = colour_of(with, segment, item);
    const float share = used_share(item);
    const bool goes_on = thin && run.end != 0 && run.colour == colour && std::fabs(run.share - share) < same_share &&
                         from - std::min(from, run.end) <= pixel / 2;
    if (goes_on) {
      blocks_.back().end = static_cast<float>(static_cast<double>(to - begin) * static_cast<double>(across) /
                                              static_cast<double>(layout_.bytes_per_line()));
      run.end = to;
    } else {
      if (from > reached) put(holes_, reached, from, with.colours.pool_free, 0);
      put(blocks_, from, to, fill_of(with, segment, item, thin), item.count == 1 && !thin ? draw::gap_after : 0U);
      run = {colour, share, thin ? to : 0};
    }
    reached = std::max(reached, to);
  }
  if (reached < end) put(holes_, reached, end, with.colours.pool_free, 0);
}

void memory_map_view::draw_labels(const view_context& with) const {
  ImGui::PushFont(nullptr, small_text);
  for (std::int64_t line = first_; line < std::min(layout_.lines(), first_ + fits_ + 1); ++line) {
    const map_row& row = *layout_.row_at(line);
    if (!row.heading) draw_line_labels(with, row, line);
  }
  ImGui::PopFont();
}

void memory_map_view::draw_line_labels(const view_context& with, const map_row& row, std::int64_t line) const {
  const query::address_segment& segment = shown_->segments[row.at];
  const map_piece piece = layout_.piece(row, line, segment.bytes);
  const std::uint64_t begin = segment.address + piece.begin;
  ImDrawList& list = *ImGui::GetWindowDrawList();
  const float y = std::floor(y_of(line) + (line_height_ - with.px(3) - ImGui::GetTextLineHeight()) * 0.5F);
  for (std::size_t i = item_at(segment, begin); i < segment.items.size(); ++i) {
    const query::address_item& item = segment.items[i];
    if (item.address >= segment.address + piece.end) break;
    // A block is labelled where it starts, or in the first visible row.
    if (item.count > 1 || (item.address < begin && line != first_)) continue;
    const float left = x_of(std::max(item.address, begin) - begin) + with.px(4);
    const float right = x_of(std::min(item.address + item.bytes, segment.address + piece.end) - begin) - with.px(4);
    if (right - left < with.px(30)) continue;
    const std::string size = format_bytes(item.used);
    const std::string_view name = with.text(item.name);
    std::string label =
        name.empty() || !named_[static_cast<std::size_t>(item.layer)] ? size : short_name(name) + "   " + size;
    if (ImGui::CalcTextSize(label.c_str()).x > right - left) label = size;
    const float width = ImGui::CalcTextSize(label.c_str()).x;
    if (width > right - left) continue;  // A number that is cut off would be misleading.
    draw_text_until(list, {left, y}, right + with.px(4), with.colours.text_on(fill_of(with, segment, item, false)),
                    label);
  }
}

// --- marks ----------------------------------------------------------------------------------------------------------

void memory_map_view::draw_marks(const view_context& with) const {
  const selection& chosen_one = with.state.selected();
  for (const query::memory_map::place& each : shown_->marked) {
    const bool selected = chosen_one.kind == selection_kind::block && chosen_one.id == trace::raw(each.block);
    const ImU32 colour = selected ? with.colours.text : each.live ? with.colours.accent : with.colours.failure;
    if (selected && !each.live) continue;  // The block was freed; another block may be at this address now.
    outline(with, each, colour);
  }
}

void memory_map_view::outline(const view_context& with, const query::memory_map::place& place, ImU32 colour) const {
  const query::address_segment* segment = find_segment(place.segment);
  if (segment == nullptr || place.address < segment->address) return;
  const auto at = static_cast<std::size_t>(segment - shown_->segments.data());
  const std::uint64_t from = std::min(place.address - segment->address, segment->bytes);
  const std::uint64_t to = from + std::min(place.bytes, segment->bytes - from);
  const auto first = layout_.line_of(at, from);
  const auto last = layout_.line_of(at, to > from ? to - 1 : from);
  if (!first || !last) return;
  ImDrawList& list = *ImGui::GetWindowDrawList();
  for (std::int64_t line = std::max(*first, first_); line <= std::min(*last, first_ + fits_); ++line) {
    const map_piece piece = layout_.piece(*layout_.row_at(line), line, segment->bytes);
    const float left = std::floor(x_of(std::max(from, piece.begin) - piece.begin) + 0.5F);
    const float right = std::max(left + 3, std::floor(x_of(std::min(to, piece.end) - piece.begin) + 0.5F));
    const ImVec2 min(left, y_of(line));
    const ImVec2 max(right, y_of(line) + line_height_ - with.px(line == *last ? 3 : 1));
    list.AddRect({min.x - 2, min.y - 1}, {max.x + 2, max.y + 1}, with.colours.background, 0, with.px(1));
    list.AddRect({min.x - 1, min.y}, {max.x + 1, max.y}, colour, 0, with.px(2));
  }
}

/// Scrolls, once, to a block that was selected elsewhere or that the last step changed.
void memory_map_view::scroll_to_marks(const view_context& with) {
  const selection& chosen_one = with.state.selected();
  for (const query::memory_map::place& each : shown_->marked) {
    const bool selected = chosen_one.kind == selection_kind::block && chosen_one.id == trace::raw(each.block);
    if (selected ? revealed_ == chosen_one : step_revealed_ == shown_->time) continue;
    if (selected) {
      revealed_ = chosen_one;
    } else {
      step_revealed_ = shown_->time;
    }
    const query::address_segment* segment = find_segment(each.segment);
    if (segment == nullptr || each.address < segment->address) continue;
    const auto line =
        layout_.line_of(static_cast<std::size_t>(segment - shown_->segments.data()), each.address - segment->address);
    if (line && (*line < first_ || *line >= first_ + fits_)) first_ = std::max<std::int64_t>(0, *line - fits_ / 2);
  }
}

// --- the mouse ------------------------------------------------------------------------------------------------------

std::optional<memory_map_view::spot> memory_map_view::spot_at(ImVec2 mouse) const {
  if (mouse.y < lines_area_.min.y || mouse.y >= lines_area_.max.y) return std::nullopt;
  const std::int64_t line = first_ + static_cast<std::int64_t>((mouse.y - lines_area_.min.y) / line_height_);
  const map_row* row = layout_.row_at(line);
  if (row == nullptr || row->heading) return std::nullopt;
  spot found;
  found.segment = &shown_->segments[row->at];
  if (mouse.x < lines_area_.min.x) return found;
  const map_piece piece = layout_.piece(*row, line, found.segment->bytes);
  const double share = static_cast<double>(mouse.x - lines_area_.min.x) / static_cast<double>(lines_area_.width());
  const std::uint64_t offset =
      piece.begin + saturating_cast<std::uint64_t>(share * static_cast<double>(layout_.bytes_per_line()));
  if (offset >= piece.end) return std::nullopt;
  const std::uint64_t address = found.segment->address + offset;
  const std::size_t at = item_at(*found.segment, address);
  const auto& items = found.segment->items;
  // A very thin item reacts to the mouse also next to it.
  const auto reach = saturating_cast<std::uint64_t>(2.0 * static_cast<double>(layout_.bytes_per_line()) /
                                                    static_cast<double>(lines_area_.width()));
  const auto take = [&](std::size_t i) {
    found.item = &items[i];
    found.begin = items[i].address;
    found.end = items[i].address + items[i].bytes;
    return found;
  };
  if (at < items.size() && items[at].address <= address) return take(at);
  if (at > 0 && address - (items[at - 1].address + items[at - 1].bytes) < reach && items[at - 1].bytes < 2 * reach)
    return take(at - 1);
  if (at < items.size() && items[at].address - address < reach && items[at].bytes < 2 * reach) return take(at);
  found.begin = at == 0 ? found.segment->address : items[at - 1].address + items[at - 1].bytes;
  found.end = at < items.size() ? items[at].address : found.segment->address + found.segment->bytes;
  return found;
}

void memory_map_view::handle_mouse(const view_context& with) {
  menu_.draw_opened(with);
  if (!ImGui::IsWindowHovered()) return;
  handle_wheel(with);
  const ImVec2 mouse = ImGui::GetMousePos();
  const float left = lines_area_.min.x - header_width_;
  if (mouse.x < left || mouse.x >= lines_area_.max.x || ImGui::IsAnyItemActive()) return;
  const auto at = spot_at(mouse);
  if (!at) return;
  hover(with, *at);
  if (ImGui::IsMouseReleased(ImGuiMouseButton_Right)) open_menu(with, *at);
}

void memory_map_view::handle_wheel(const view_context& with) {
  const ImGuiIO& io = ImGui::GetIO();
  if (io.MouseWheel == 0) return;
  if (io.KeyCtrl) {
    zoom_about(io.MouseWheel > 0 ? 0.5 : 2.0, ImGui::GetMousePos().y);
  } else {
    first_ -= static_cast<std::int64_t>(std::lround(io.MouseWheel * 3));
  }
  static_cast<void>(with);
}

void memory_map_view::zoom_about(double factor, float y) {
  if (layout_.lines() == 0 || line_bytes_ == 0) return;
  const auto wanted = saturating_cast<std::uint64_t>(static_cast<double>(line_bytes_) * factor);
  const std::uint64_t next = std::clamp(wanted, shortest_line, longest_line(*shown_));
  if (next == line_bytes_) return;
  const auto below = static_cast<std::int64_t>((y - lines_area_.min.y) / line_height_);
  const map_row* row = layout_.row_at(std::clamp<std::int64_t>(first_ + below, 0, layout_.lines() - 1));
  const bool heading = row->heading;
  const std::size_t segment = row->at;
  const std::uint64_t offset =
      heading ? 0 : layout_.piece(*row, std::max(row->first, first_ + below), UINT64_MAX).begin;
  fitted_ = false;
  line_bytes_ = next;
  layout_.assign(*shown_, line_bytes_, order_, folded_);
  if (const auto line = heading ? std::optional<std::int64_t>() : layout_.line_of(segment, offset))
    first_ = *line - below;
}

void memory_map_view::hover(const view_context& with, const spot& at) {
  if (at.item != nullptr || at.begin < at.end)
    outline(with, {trace::block_id::none, at.segment->block, at.begin, at.end - at.begin, true}, with.colours.muted);
  tip(with, at);
  const trace::block_id block = at.item != nullptr   ? at.item->block
                                : at.begin == at.end ? at.segment->block
                                                     : trace::block_id::none;
  if (block == trace::block_id::none) return;
  ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
  const selection wanted{with.state.active()->id, selection_kind::block, trace::raw(block)};
  if (ImGui::IsMouseClicked(ImGuiMouseButton_Left)) {
    revealed_ = wanted;  // The block is already in view.
    with.commands.invoke("selection.set", wanted);
  }
  if (ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left)) with.commands.invoke("selection.reveal");
}

void memory_map_view::tip(const view_context& with, const spot& at) {
  if (!begin_tip(with)) return;
  const float column = with.px(96);
  if (at.item != nullptr) {
    tip_of_block(with, at);
  } else if (at.begin < at.end) {
    ImGui::PushFont(with.fonts.bold, 0);
    ImGui::Text("%s free", format_bytes(at.end - at.begin).c_str());
    ImGui::PopFont();
    tip_field(with, "at",
              format_address(at.begin) + ", " + format_bytes(at.begin - at.segment->address) + " from segment start",
              column);
    tip_field(with, "largest here", format_bytes(at.segment->largest_hole), column);
  } else {
    tip_of_segment(with, *at.segment);
  }
  end_tip();
}

void memory_map_view::tip_of_segment(const view_context& with, const query::address_segment& segment) const {
  const float column = with.px(96);
  ImGui::PushFont(with.fonts.bold, 0);
  ImGui::Text("%s %s", std::string(name_of(segment.layer)).c_str(),
              segment.lone ? "block outside segments" : "segment");
  ImGui::PopFont();
  tip_field(with, "address", format_address(segment.address), column);
  tip_field(with, "size", format_bytes(segment.bytes) + " of " + std::string(name_of(segment.kind)) + " memory",
            column);
  if (segment.lone) return;
  tip_field(with, "used", format_bytes(segment.used) + " by " + format_some(segment.blocks, "block"), column);
  tip_field(with, "free", format_bytes(segment.bytes - segment.used), column);
  tip_field(with, "largest free", format_bytes(segment.largest_hole), column);
  tip_field(with, "fragmentation", format_share(segment.fragmentation()), column);
}

void memory_map_view::tip_of_block(const view_context& with, const spot& at) {
  const query::address_item& item = *at.item;
  const float column = with.px(96);
  const std::string_view name = with.text(item.name);
  ImGui::PushTextWrapPos(with.px(460));
  ImGui::PushFont(with.fonts.bold, 0);
  if (item.count > 1) {
    ImGui::Text("%s in this pixel", format_some(item.count, "block").c_str());
  } else if (name.empty()) {
    ImGui::Text("Block of %s", format_bytes(item.used).c_str());
  } else {
    ImGui::TextUnformatted(name.data(), name.data() + name.size());
  }
  ImGui::PopFont();
  ImGui::PopTextWrapPos();
  if (item.count > 1) {
    tip_field(with, "used", format_bytes(item.used) + " of " + format_bytes(item.bytes), column);
    return ImGui::TextDisabled("Zoom in to distinguish them; a click selects the largest.");
  }
  tip_field(with, "size", format_bytes(item.used), column);
  tip_field(with, "age", item.born <= shown_->time ? format_time(shown_->time - item.born) : std::string("-"), column);
  tip_field(with, "layer", name_of(item.layer), column);
  if (item.category.what != index::category::none)
    tip_field(with, "category",
              std::string(index::category_name(item.category.what)) + (item.category.exact() ? "" : " (inferred)"),
              column);
  tip_field(
      with, "at",
      format_address(item.address) + ", " + format_bytes(item.address - at.segment->address) + " from segment start",
      column);
  if (item.stack == trace::stack_id::none) return;
  const auto details = hovered_query_.ask(*with.state.active()->engine, {trace::event_id::none, item.block});
  if (!details.complete || details.failure || !details) return;
  std::vector<const symbols::frame_line*> lines;
  for (const symbols::frame_line& each : details->stack) lines.push_back(&each);
  const std::size_t named = symbols::line_to_name(lines);
  if (named >= lines.size()) return;
  tip_field(with, "allocated by", short_name(*lines[named]) + "  " + symbols::place_of(*lines[named]), column);
  if (!lines[named]->source.empty()) ImGui::TextDisabled("%s", lines[named]->source.c_str());
}

}  // namespace sluice::gui
