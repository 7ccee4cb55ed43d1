#include "app/gui/views/compare/difference_flames.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "app/gui/views/parts/item_menu.hpp"
#include "app/gui/views/parts/widgets.hpp"
#include "app/gui/window/format.hpp"
#include "core/base/signed_text.hpp"
#include "imgui_internal.h"

namespace sluice::gui {
namespace {

constexpr float difference_row = 20;             // design pixels
constexpr time_ns difference_width = 1'000'000;  // total width in units of the renderer, which was designed for times

std::string bytes_change(std::uint64_t before, std::uint64_t after) {
  const std::uint64_t by = after > before ? after - before : before - after;
  return change_words(static_cast<double>(before), static_cast<double>(after), format_bytes(by));
}

const symbols::frame_line& get_line(const metrics::difference_tree& tree, std::uint32_t node) {
  return tree.lines[tree.tree.nodes[node].line];
}

}  // namespace

std::string change_words(double before, double after, const std::string& amount) {
  if (before == after) return "unchanged";
  const std::string by = with_sign(after - before, amount);
  if (before <= 0) return by + " (new)";
  if (after <= 0) return by + " (gone)";
  return by + metrics::percent_of_change(before, after);
}

ImU32 difference_flames::choose_colour(const theme& colours, std::uint64_t before, std::uint64_t after) {
  const ImU32 same = colours.slice(query::slice_kind::api_call);
  if (before == after) return same;
  const auto most = static_cast<double>(std::max(before, after));
  const auto by = static_cast<double>(after > before ? after - before : before - after) / most;
  // The strength of the colour makes even a small change visible, and a change of one half obvious.
  return mix(same, after > before ? colour_of_more(colours) : colour_of_less(colours),
             static_cast<float>(0.25 + 0.75 * std::sqrt(by)));
}

void difference_flames::draw(view_context& with, const metrics::difference_tree& tree,
                             const std::shared_ptr<const void>& keeps) {
  if (drawn_.tree != &tree) zoom_ = 0;
  if (tree.tree.nodes.size() < 2)
    return empty_state(with, icon::search, "No memory of this kind",
                       "Neither side has memory of this kind at its peak.");
  draw_path(with, tree);
  const float bar = ImGui::GetStyle().ScrollbarSize;
  ImGui::BeginChild("difference", {0, 0}, ImGuiChildFlags_None);
  const float width = std::max(1.0F, ImGui::GetWindowWidth() - bar);
  const drawn_state now{&tree, keeps, zoom_, width, with.scale, with.colours.kind};
  if (!(now == drawn_)) {
    if (now.zoom != drawn_.zoom) ImGui::SetScrollY(0);
    drawn_ = now;
    upload(with, tree);
  }
  const ImVec2 origin = ImGui::GetCursorScreenPos();
  const draw::rectangle area{origin,
                             {origin.x + width, origin.y + with.px(difference_row) * static_cast<float>(rows_)}};
  ImGui::InvisibleButton("flames", {width, std::max(1.0F, area.height())});
  const bool hovered = ImGui::IsItemHovered();
  const bool clicked = ImGui::IsItemClicked(ImGuiMouseButton_Left);
  panel_context_menu(with);
  ImDrawList& list = *ImGui::GetWindowDrawList();
  with.boxes.add(list, batch_, area, {0, difference_width}, static_cast<float>(rows_), with.colours.background);
  draw_labels(with, tree, area, list);
  if (hovered) hover(with, tree, area, list, clicked);
  ImGui::EndChild();
}

void difference_flames::draw_path(const view_context& with, const metrics::difference_tree& tree) {
  const auto metrics = [&](std::uint32_t node) {
    return format_bytes(tree.before[node]) + " to " + format_bytes(tree.after[node]) + ", " +
           bytes_change(tree.before[node], tree.after[node]);
  };
  if (zoom_ == 0) {
    ImGui::TextDisabled("%s", metrics(0).c_str());
  } else {
    if (link(with, "all")) {
      zoom_ = 0;
    } else {
      ImGui::SameLine(0, with.px(6));
      ImGui::TextDisabled("%s", icon::fold);
      ImGui::SameLine(0, with.px(6));
      clipped_text(short_name(get_line(tree, zoom_)) + ": " + metrics(zoom_), ImGui::GetContentRegionAvail().x);
    }
  }
  const std::array<std::pair<ImU32, const char*>, 3> entries = {{{colour_of_more(with.colours), "grew"},
                                                                 {colour_of_less(with.colours), "shrank"},
                                                                 {choose_colour(with.colours, 1, 1), "unchanged"}}};
  float wide = 0;
  for (const auto& [colour, label] : entries) wide += ImGui::CalcTextSize(label).x + with.px(15 + 14);
  ImGui::SameLine(0, with.px(16));
  const float room = ImGui::GetContentRegionAvail().x;
  if (room < wide) return ImGui::NewLine();
  ImGui::SetCursorPosX(ImGui::GetCursorPosX() + room - wide);
  for (const auto& [colour, label] : entries) {
    swatch(with, colour);
    ImGui::TextDisabled("%s", label);
    if (label != entries.back().second) ImGui::SameLine(0, with.px(14));
  }
}

void difference_flames::upload(const view_context& with, const metrics::difference_tree& tree) {
  flames_ = lay_out_below_root(tree.tree, zoom_, metrics::stack_weight::bytes, static_cast<double>(drawn_.width));
  rows_ = get_rows(flames_);
  std::vector<draw::box> boxes;
  boxes.reserve(flames_.size());
  for (const flame& each : flames_) {
    draw::box box;
    box.begin = static_cast<float>(each.begin * static_cast<double>(difference_width));
    box.end = static_cast<float>(each.end * static_cast<double>(difference_width));
    box.low = static_cast<float>(rows_ - each.row - 1) + 1 / with.px(difference_row);
    box.high = static_cast<float>(rows_ - each.row);
    box.style = draw::gap_after;
    box.colour = choose_colour(with.colours, tree.before[each.node], tree.after[each.node]);
    boxes.push_back(box);
  }
  batch_.assign(0, boxes);
}

draw::rectangle difference_flames::get_place(const view_context& with, const draw::rectangle& area,
                                             const flame& each) const {
  const float line = with.px(difference_row);
  const auto x = [&](double share) {
    return std::floor(area.min.x + static_cast<float>(share * static_cast<double>(area.width())) + 0.5F);
  };
  const float top = area.min.y + line * static_cast<float>(each.row);
  return {{x(each.begin), top}, {std::max(x(each.end), x(each.begin) + 1), top + line - 1}};
}

void difference_flames::draw_labels(const view_context& with, const metrics::difference_tree& tree,
                                    const draw::rectangle& area, ImDrawList& list) const {
  const float top = ImGui::GetWindowPos().y;
  const float bottom = top + ImGui::GetWindowHeight();
  ImGui::PushFont(nullptr, box_text);
  ImGui::PushStyleColor(ImGuiCol_Text, with.colours.on_colour);
  const float line = ImGui::GetTextLineHeight();
  for (const flame& each : flames_) {
    const draw::rectangle box = get_place(with, area, each);
    const float left = box.min.x + with.px(5);
    const float right = box.max.x - with.px(4);
    if (box.max.y < top || box.min.y > bottom || right - left < with.px(22)) continue;
    std::string label = short_name(get_line(tree, each.node));
    const std::string more = "   " + bytes_change(tree.before[each.node], tree.after[each.node]);
    if (ImGui::CalcTextSize((label + more).c_str()).x < right - left) label += more;
    const ImVec2 size = ImGui::CalcTextSize(label.c_str());
    ImGui::RenderTextEllipsis(&list, {left, std::floor(box.min.y + (box.height() - line) * 0.5F)}, {right, box.max.y},
                              right, label.c_str(), label.c_str() + label.size(), &size);
  }
  ImGui::PopStyleColor();
  ImGui::PopFont();
}

void difference_flames::hover(const view_context& with, const metrics::difference_tree& tree,
                              const draw::rectangle& area, ImDrawList& list, bool clicked) {
  const ImVec2 mouse = ImGui::GetMousePos();
  const auto under = std::find_if(flames_.begin(), flames_.end(),
                                  [&](const flame& each) { return get_place(with, area, each).contains(mouse); });
  if (under == flames_.end()) return;
  const draw::rectangle box = get_place(with, area, *under);
  list.AddRect(box.min, box.max, with.colours.text);
  const std::uint32_t node = under->node;
  if (node != zoom_) ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
  if (clicked) zoom_ = node;
  if (!begin_tip(with)) return;
  const symbols::frame_line& line = get_line(tree, node);
  ImGui::PushTextWrapPos(with.px(520));
  ImGui::PushFont(with.fonts.bold, 0);
  ImGui::TextUnformatted(symbols::get_name(line).c_str());
  ImGui::PopFont();
  const std::string where = line.file.empty() ? line.module : line.file + ":" + std::to_string(line.line);
  if (!where.empty()) ImGui::TextDisabled("%s", where.c_str());
  if (!line.source.empty()) ImGui::TextUnformatted(line.source.c_str());
  ImGui::PopTextWrapPos();
  const float column = with.px(88);
  tip_field(with, "before", format_bytes(tree.before[node]), column);
  tip_field(with, "after", format_bytes(tree.after[node]), column);
  tip_field(with, "difference", bytes_change(tree.before[node], tree.after[node]), column);
  end_tip();
}

}  // namespace sluice::gui
