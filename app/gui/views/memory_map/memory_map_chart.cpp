#include "app/gui/views/memory_map/memory_map_chart.hpp"

#include <algorithm>
#include <cmath>

#include "app/gui/views/parts/widgets.hpp"
#include "app/gui/views/timeline/track_row.hpp"
#include "app/gui/window/format.hpp"
#include "core/index/labels.hpp"
#include "core/trace/model/names.hpp"

namespace sluice::gui {
namespace {

constexpr float line_height = 20;  // design pixels
constexpr float chart_ruler_height = 18;
constexpr float min_for_ruler = 90;
constexpr float wide_header = 248;
constexpr float narrow_header = 84;
constexpr float min_for_wide = 640;

std::string get_title(const query::address_group& group) {
  const std::string layer = format::capital(std::string(get_name(group.layer)));
  return layer + (group.lone ? " blocks outside segments" : " segments");
}

std::string share_used(const query::address_totals& totals) {
  return format_share(totals.bytes == 0 ? 0 : static_cast<double>(totals.used) / static_cast<double>(totals.bytes));
}

std::string compute_metrics(const query::address_group& group) {
  std::string text = format_count(group.segments) + " with " + format_bytes(group.bytes) + " in total";
  if (group.lone) return text;
  text += ",  " + share_used(group) + " used";
  if (group.used >= group.bytes) return text;
  return text + ",  " + format_bytes(group.bytes - group.used) + " free,  largest free " +
         format_bytes(group.largest_hole) + ",  fragmentation " + format_share(group.fragmentation());
}

}  // namespace

void memory_map_chart::reset() {
  viewport_.reset();
  boxes_.reset();
  tips_.reset();
  revealed_ = {};
  step_revealed_ = trace::unknown_time;
}

void memory_map_chart::draw(view_context& with, const std::shared_ptr<const query::memory_map>& map,
                            const map_colours& colours) {
  const ImVec2 origin = ImGui::GetCursorScreenPos();
  const ImVec2 room = ImGui::GetContentRegionAvail();
  const float bar = ImGui::GetStyle().ScrollbarSize;
  const float ruler = room.y >= with.px(min_for_ruler) ? with.px(chart_ruler_height) : 0;
  header_width_ = room.x >= with.px(min_for_wide) ? with.px(wide_header) : with.px(narrow_header);
  const draw::rectangle area{{origin.x + header_width_, origin.y + ruler},
                             {origin.x + room.x - bar - with.px(4), origin.y + room.y}};
  if (!viewport_.set_area(with, area, with.px(line_height))) return;
  viewport_.lay_out(map);
  scroll_to_marks(with);
  viewport_.draw_scroll_bar(with, bar);
  if (ruler > 0) draw_ruler(with);
  ImGui::SetCursorScreenPos({origin.x, area.min.y});
  ImGui::PushClipRect({origin.x, area.min.y}, area.max, true);
  draw_rows(with, colours);
  draw_marks(with);
  handle_mouse(with);
  ImGui::PopClipRect();
}

/// Draws the visible rows only.
void memory_map_chart::draw_rows(view_context& with, const map_colours& colours) {
  boxes_.draw(with, viewport_, colours);
  draw_labels(with, colours);
  for (std::int64_t line = viewport_.first(); line < viewport_.end();) {
    const auto rows = viewport_.layout().rows_at(line);
    const map_row& row = rows.front();
    if (row.heading) {
      draw_heading(with, row, viewport_.to_y(row.first));
    } else {
      draw_header(with, rows, viewport_.to_y(std::max(line, row.first)));
    }
    line = row.first + row.lines;
  }
}

void memory_map_chart::draw_ruler(const view_context& with) const {
  ImDrawList& list = *ImGui::GetWindowDrawList();
  ImGui::PushFont(nullptr, small_text);
  const float y = viewport_.area().min.y - with.px(chart_ruler_height);
  int marks = 8;
  while (marks > 1 && viewport_.area().width() / static_cast<float>(marks) < with.px(84)) marks /= 2;
  const std::string per_row = format_bytes(viewport_.layout().bytes_per_line()) + " per row";
  draw_text_until(list, {viewport_.area().min.x - header_width_, y}, viewport_.area().min.x - with.px(6),
                  with.colours.muted, per_row);
  for (int i = 0; i < marks; ++i) {
    const std::uint64_t offset =
        viewport_.layout().bytes_per_line() / static_cast<std::uint64_t>(marks) * static_cast<std::uint64_t>(i);
    const float x = std::floor(viewport_.to_x(offset));
    list.AddLineV(x, viewport_.area().min.y - with.px(5), viewport_.area().min.y - 1, with.colours.muted);
    const std::string label =
        i == 0 ? std::string("0") : "+" + format::axis_value(static_cast<double>(offset), format::value_unit::bytes);
    draw_text_until(list, {x + with.px(4), y}, viewport_.area().max.x, with.colours.muted, label);
  }
  list.AddLineH(viewport_.area().min.x - header_width_, viewport_.area().max.x, viewport_.area().min.y - 1,
                with.colours.line);
  ImGui::PopFont();
}

void memory_map_chart::draw_heading(const view_context& with, const map_row& row, float y) {
  const query::address_group& group = viewport_.map()->groups[row.at];
  ImDrawList& list = *ImGui::GetWindowDrawList();
  const float left = viewport_.area().min.x - header_width_;
  const bool folded = viewport_.folded(get_key(group));
  ImGui::SetCursorScreenPos({left, y});
  ImGui::PushID(static_cast<int>(row.at));
  if (ImGui::InvisibleButton("group", {viewport_.area().max.x - left, viewport_.line_height()}))
    viewport_.toggle_fold(get_key(group));
  ImGui::PopID();
  const ImU32 back = ImGui::IsItemHovered() ? with.colours.hover : with.colours.header;
  list.AddRectFilled({left, y}, {viewport_.area().max.x, y + viewport_.line_height() - with.px(3)}, back);
  ImGui::PushFont(nullptr, 11.0F);
  list.AddText({left + with.px(6), std::floor(y + with.px(2))}, with.colours.muted, folded ? icon::fold : icon::unfold);
  ImGui::PopFont();
  std::string title = get_title(group);
  const auto same_process = [&](const query::address_group& other) { return other.process == group.process; };
  if (!std::all_of(viewport_.map()->groups.begin(), viewport_.map()->groups.end(), same_process))
    title += " of " + index::process_label(group.process, with.state.active()->engine->snapshot()->tables());
  float x = left + with.px(22);
  ImGui::PushFont(with.fonts.bold, 13.5F);
  draw_text_until(list, {x, y}, viewport_.area().max.x, with.colours.text, title);
  x += ImGui::CalcTextSize(title.c_str()).x + with.px(12);
  ImGui::PopFont();
  std::string metrics = compute_metrics(group);
  const auto of_group = [&](const query::address_segment& each) { return each.group == row.at; };
  const auto here = static_cast<std::uint64_t>(
      std::count_if(viewport_.map()->segments.begin(), viewport_.map()->segments.end(), of_group));
  if (here < group.segments) metrics += ";  the largest " + format_count(here) + " are shown";
  ImGui::PushFont(nullptr, 13.0F);
  draw_text_until(list, {x, y}, viewport_.area().max.x - with.px(4), with.colours.muted, metrics);
  ImGui::PopFont();
}

/// Draws the address, the size and the used share of a segment, or the sums of the segments that share a line, and what
/// separates those.
void memory_map_chart::draw_header(const view_context& with, std::span<const map_row> rows, float y) const {
  ImDrawList& list = *ImGui::GetWindowDrawList();
  query::address_totals sum;
  bool lone = true;
  bool selected = false;
  const selection& chosen_one = with.state.selected();
  for (const map_row& row : rows) {
    const query::address_segment& segment = viewport_.map()->segments[row.at];
    sum.bytes += segment.bytes;
    sum.used += segment.used;
    lone = lone && segment.lone;
    selected = selected || (chosen_one.kind == selection_kind::block && chosen_one.id == trace::raw(segment.block));
    const float x = std::floor(viewport_.to_x(row.indent));
    if (row.indent > 0)
      list.AddRectFilled({x - with.px(2), y}, {x, y + viewport_.line_height()}, with.colours.background);
  }
  const float left = viewport_.area().min.x - header_width_;
  const float right = viewport_.area().min.x - with.px(10);
  const bool wide = header_width_ > with.px(narrow_header);
  ImGui::PushFont(nullptr, 13.0F);
  const float text_y = std::floor(y + (viewport_.line_height() - with.px(3) - ImGui::GetTextLineHeight()) * 0.5F);
  const float share_left = wide ? right - with.px(40) : right;
  const std::string size = format_bytes(sum.bytes);
  const float size_left = share_left - ImGui::CalcTextSize(size.c_str()).x;
  draw_text_until(list, {std::max(left, size_left), text_y}, share_left + with.px(8),
                  selected ? with.colours.accent : with.colours.text, size);
  ImGui::PopFont();
  if (!wide) return;
  ImGui::PushFont(nullptr, small_text);
  std::string address = format_address(viewport_.map()->segments[rows.front().at].address);
  if (rows.size() > 1) address += "  +" + format_count(rows.size() - 1);
  draw_text_until(list, {left + with.px(6), text_y + 1}, size_left - with.px(8), with.colours.muted, address);
  if (!lone) {
    const std::string share = share_used(sum);
    draw_text_until(list, {right - ImGui::CalcTextSize(share.c_str()).x, text_y + 1}, right + with.px(8),
                    with.colours.muted, share);
  }
  ImGui::PopFont();
}

// --- labels and marks -----------------------------------------------------------------------------------------------

void memory_map_chart::draw_labels(const view_context& with, const map_colours& colours) const {
  ImGui::PushFont(nullptr, small_text);
  for (std::int64_t line = viewport_.first(); line < viewport_.end(); ++line) {
    for (const map_row& row : viewport_.layout().rows_at(line))
      if (!row.heading) draw_line_labels(with, colours, row, line);
  }
  ImGui::PopFont();
}

void memory_map_chart::draw_line_labels(const view_context& with, const map_colours& colours, const map_row& row,
                                        std::int64_t line) const {
  const query::address_segment& segment = viewport_.map()->segments[row.at];
  const map_piece on_line = viewport_.layout().piece(row, line, segment.bytes);
  const std::uint64_t begin = segment.address + on_line.begin;
  ImDrawList& list = *ImGui::GetWindowDrawList();
  const float y =
      std::floor(viewport_.to_y(line) + (viewport_.line_height() - with.px(3) - ImGui::GetTextLineHeight()) * 0.5F);
  for (std::size_t i = item_at(segment, begin); i < segment.items.size(); ++i) {
    const query::address_item& item = segment.items[i];
    if (item.address >= segment.address + on_line.end) break;
    // A block is labelled where it starts, or in the first visible row.
    if (item.count > 1 || (item.address < begin && line != viewport_.first())) continue;
    const auto to_x = [&](std::uint64_t address) { return viewport_.to_x(row, on_line, address - segment.address); };
    const float left = to_x(std::max(item.address, begin)) + with.px(4);
    const float right = to_x(std::min(item.address + item.bytes, segment.address + on_line.end)) - with.px(4);
    if (right - left < with.px(30)) continue;
    const std::string size = format_bytes(item.used);
    const std::string_view name = with.text(item.name);
    std::string label = name.empty() || !colours.shows_names(item.layer) ? size : short_name(name) + "   " + size;
    if (ImGui::CalcTextSize(label.c_str()).x > right - left) label = size;
    const float width = ImGui::CalcTextSize(label.c_str()).x;
    if (width > right - left) continue;  // A number that is cut off would be misleading.
    draw_text_until(list, {left, y}, right + with.px(4), with.colours.text_on(colours.fill(with, segment, item, false)),
                    label);
  }
}

void memory_map_chart::draw_marks(const view_context& with) const {
  for (const query::memory_map::place& each : viewport_.map()->marked) {
    const bool selected = with.followed().lights(each.block);
    const ImU32 colour = selected ? with.colours.text : each.live ? with.colours.accent : with.colours.muted;
    if (selected && !each.live) continue;  // The block was freed; another block may be at this address now.
    outline(with, each, colour);
  }
}

void memory_map_chart::outline(const view_context& with, const query::memory_map::place& block, ImU32 colour) const {
  const query::address_segment* segment = viewport_.find_segment(block.segment);
  if (segment == nullptr || block.address < segment->address) return;
  const auto at = static_cast<std::size_t>(segment - viewport_.map()->segments.data());
  const std::uint64_t start = std::min(block.address - segment->address, segment->bytes);
  const std::uint64_t stop = start + std::min(block.bytes, segment->bytes - start);
  const auto first = viewport_.layout().get_line(at, start);
  const auto last = viewport_.layout().get_line(at, stop > start ? stop - 1 : start);
  if (!first || !last) return;
  ImDrawList& list = *ImGui::GetWindowDrawList();
  for (std::int64_t line = std::max(*first, viewport_.first());
       line <= std::min(*last, viewport_.first() + viewport_.fits()); ++line) {
    const map_row& row = *viewport_.layout().row_of(at);
    const map_piece on_line = viewport_.layout().piece(row, line, segment->bytes);
    const float left = std::floor(viewport_.to_x(row, on_line, std::max(start, on_line.begin)) + 0.5F);
    const float right =
        std::max(left + 3, std::floor(viewport_.to_x(row, on_line, std::min(stop, on_line.end)) + 0.5F));
    const ImVec2 min(left, viewport_.to_y(line));
    const ImVec2 max(right, viewport_.to_y(line) + viewport_.line_height() - with.px(line == *last ? 3 : 1));
    list.AddRect({min.x - 2, min.y - 1}, {max.x + 2, max.y + 1}, with.colours.background, 0, with.px(1));
    list.AddRect({min.x - 1, min.y}, {max.x + 1, max.y}, colour, 0, with.px(2));
  }
}

/// Scrolls, once, to a block that was selected elsewhere or that the last step changed.
void memory_map_chart::scroll_to_marks(const view_context& with) {
  const selection& chosen_one = with.state.selected();
  for (const query::memory_map::place& each : viewport_.map()->marked) {
    const bool selected = with.followed().lights(each.block);
    if (selected ? revealed_ == chosen_one : step_revealed_ == viewport_.map()->time) continue;
    if (selected) {
      revealed_ = chosen_one;
    } else {
      step_revealed_ = viewport_.map()->time;
    }
    viewport_.scroll_to(each);
  }
}

// --- the mouse ------------------------------------------------------------------------------------------------------

void memory_map_chart::handle_mouse(const view_context& with) {
  menu_.draw_opened(with);
  if (!ImGui::IsWindowHovered()) return;
  turn_wheel();
  const ImVec2 mouse = ImGui::GetMousePos();
  const float left = viewport_.area().min.x - header_width_;
  if (mouse.x < left || mouse.x >= viewport_.area().max.x || ImGui::IsAnyItemActive()) return;
  const auto at = viewport_.spot_at(mouse);
  if (!at) return;
  hover(with, *at);
  if (ImGui::IsMouseReleased(ImGuiMouseButton_Right)) open_menu(with, *at);
}

/// Zooms if Ctrl is held; otherwise scrolls.
void memory_map_chart::turn_wheel() {
  const ImGuiIO& io = ImGui::GetIO();
  if (io.MouseWheel == 0) return;
  if (io.KeyCtrl) {
    viewport_.zoom_about(io.MouseWheel > 0 ? 0.5 : 2.0, ImGui::GetMousePos().y);
  } else {
    viewport_.scroll(-static_cast<std::int64_t>(std::lround(io.MouseWheel * 3)));
  }
}

void memory_map_chart::hover(const view_context& with, const map_spot& at) {
  if (at.item != nullptr || at.begin < at.end)
    outline(with, {trace::block_id::none, at.segment->block, at.begin, at.end - at.begin, true}, with.colours.muted);
  tips_.draw(with, at, viewport_.map()->time);
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

}  // namespace sluice::gui
