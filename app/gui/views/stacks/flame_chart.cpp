#include "app/gui/views/stacks/flame_chart.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "app/gui/views/parts/panel_parts.hpp"
#include "app/gui/views/parts/widgets.hpp"
#include "app/gui/views/timeline/track_row.hpp"
#include "app/gui/window/format.hpp"
#include "imgui_internal.h"
#include "imgui_stdlib.h"

namespace sluice::gui {
namespace {

using metrics::stack_metrics;
using symbols::frame_line;

constexpr float row_height = 20;             // design pixels
constexpr time_ns across_width = 1'000'000;  // total width in units of the renderer, which was designed for times

bool contains(std::string_view text, std::string_view wanted) {
  const auto same = [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); };
  return std::search(text.begin(), text.end(), wanted.begin(), wanted.end(), same) != text.end();
}

bool is_unknown(const frame_line& line) { return line.kind == trace::frame_kind::unknown || line.function.empty(); }
ImU32 own_python(const view_context& with) { return with.colours.slice(query::slice_kind::kernel); }
ImU32 own_native(const view_context& with) { return with.colours.slice(query::slice_kind::range); }
ImU32 library(const view_context& with) { return with.colours.slice(query::slice_kind::api_call); }

draw::rectangle get_place(const view_context& with, const draw::rectangle& area, const flame& each) {
  const float line = with.px(row_height);
  const auto x = [&](double share) {
    return std::floor(area.min.x + static_cast<float>(share * static_cast<double>(area.width())) + 0.5F);
  };
  const float top = area.min.y + line * static_cast<float>(each.row);
  return {{x(each.begin), top}, {std::max(x(each.end), x(each.begin) + 1), top + line - 1}};
}

}  // namespace

void flame_chart::reset() {
  shown_ = nullptr;
  batch_ = {};
  zoom_ = 0;
  lit_.clear();
  lit_version_ = 0;
}

void flame_chart::follow_selection(const view_context& with) {
  const selection& chosen = with.state.selected();
  if (chosen.kind == selection_kind::frame) zoom_ = chosen.id;
  if (chosen.kind == selection_kind::none) zoom_ = 0;
}

void flame_chart::zoom_to(const view_context& with, std::uint64_t id) {
  with.commands.invoke("selection.set", id == 0 ? selection{with.state.active()->id, selection_kind::none, 0}
                                                : selection{with.state.active()->id, selection_kind::frame, id});
}

void flame_chart::draw_search(const view_context& with, metrics::stack_weight weight) {
  ImGui::SetNextItemWidth(std::min(with.px(180), ImGui::GetContentRegionAvail().x));
  if (ImGui::InputTextWithHint("##search", "Function or file", &search_)) matches_.clear();
  if (search_.empty() || shown_ == nullptr) return;
  const std::string found = "found in " + format_share(compute_share(*shown_, matches(), weight));
  place_control(ImGui::CalcTextSize(found.c_str()).x);
  ImGui::AlignTextToFramePadding();
  ImGui::TextDisabled("%s", found.c_str());
}

void flame_chart::draw(view_context& with, const std::shared_ptr<const query::stack_view>& view,
                       const flame_words& words) {
  const bool changed = view != shown_;
  if (changed) matches_.clear();
  shown_ = view;
  draw_path(with, words);
  draw_chart(with, words, changed);
}

void flame_chart::draw_path(const view_context& with, const flame_words& words) {
  zoomed_ = find_node(*shown_, zoom_);
  const auto& nodes = shown_->tree.nodes;
  std::vector<std::uint32_t> path;
  for (std::uint32_t at = zoomed_; at != 0; at = nodes[at].parent) path.insert(path.begin(), at);
  if (path.empty()) {
    ImGui::TextDisabled("%s", words.total.c_str());
  } else {
    if (link(with, words.total)) zoom_to(with, 0);
    // If the path does not fit, omit its middle: the frame itself and its nearest callers matter most.
    const float arrow = ImGui::CalcTextSize(icon::fold).x + with.px(12);
    const auto width = [&](std::uint32_t node) { return ImGui::CalcTextSize(get_short_name(node).c_str()).x + arrow; };
    float room = ImGui::GetContentRegionAvail().x - ImGui::GetItemRectSize().x - with.px(70);
    std::size_t first = path.size();
    while (first > 0 && (room -= width(path[first - 1])) > 0) --first;
    first = std::min(first, path.size() - 1);
    for (std::size_t i = first; i < path.size(); ++i) {
      ImGui::SameLine(0, with.px(6));
      ImGui::TextDisabled(i == first && first > 0 ? "%s ... %s" : "%s", icon::fold, icon::fold);
      ImGui::SameLine(0, with.px(6));
      ImGui::PushID(static_cast<int>(i));
      if (i + 1 == path.size()) {
        ImGui::TextUnformatted(get_short_name(path[i]).c_str());
      } else if (link(with, get_short_name(path[i]))) {
        zoom_to(with, shown_->ids[path[i]]);
      }
      ImGui::PopID();
    }
  }
  draw_legend(with, words);
}

std::string flame_chart::get_short_name(std::uint32_t node) const {
  return short_name(shown_->lines[shown_->tree.nodes[node].line]);
}

void flame_chart::draw_legend(const view_context& with, const flame_words& words) const {
  struct entry {
    ImU32 colour;
    const char* label;
    bool hatched;
  };
  std::vector<entry> entries = {{own_python(with), "own Python", false},
                                {own_native(with), "own native", false},
                                {library(with), "libraries", false},
                                {with.colours.untracked, "unknown", true}};
  if (words.colour_meaning != nullptr) entries.push_back({with.colours.muted, words.colour_meaning, false});
  float width = 0;
  for (const entry& each : entries) width += ImGui::CalcTextSize(each.label).x + with.px(15 + 14);
  ImGui::SameLine(0, with.px(16));
  const float room = ImGui::GetContentRegionAvail().x;
  if (room < width) return ImGui::NewLine();
  ImGui::SetCursorPosX(ImGui::GetCursorPosX() + room - width);
  for (const entry& each : entries) {
    swatch(with, each.colour, each.hatched);
    ImGui::TextDisabled("%s", each.label);
    if (&each != &entries.back()) ImGui::SameLine(0, with.px(14));
  }
}

const std::vector<bool>& flame_chart::matches() {
  if (matches_.size() == shown_->lines.size()) return matches_;
  matches_.assign(shown_->lines.size(), search_.empty());
  for (std::size_t i = 0; i < matches_.size() && !search_.empty(); ++i)
    matches_[i] = contains(symbols::to_text(shown_->lines[i]), search_);
  return matches_;
}

draw::box flame_chart::make_box(const view_context& with, const flame_words& words, const flame& each, float gap) {
  draw::box box;
  box.begin = static_cast<float>(each.begin * static_cast<double>(across_width));
  box.end = static_cast<float>(each.end * static_cast<double>(across_width));
  box.low = static_cast<float>(rows_ - each.row - 1) + gap;
  box.high = static_cast<float>(rows_ - each.row);
  box.style = draw::gap_after;
  const std::uint32_t place = shown_->tree.nodes[each.node].line;
  if (!matches()[place]) box.style |= draw::dimmed;
  if (const auto own = words.choose_colour ? words.choose_colour(place) : std::nullopt) {
    box.colour = *own;
    return box;
  }
  const frame_line& line = shown_->lines[place];
  const ImU32 colour = line.kind == trace::frame_kind::unknown  ? with.colours.untracked
                       : !line.own                              ? library(with)
                       : line.kind == trace::frame_kind::python ? own_python(with)
                                                                : own_native(with);
  box.colour = with.colours.shade(colour, std::hash<std::string>()(line.function));
  if (is_unknown(line)) box.style |= draw::hatched;
  return box;
}

void flame_chart::upload(const view_context& with, const flame_words& words, float width) {
  flames_ = lay_out_below_root(shown_->tree, zoomed_, words.weight, static_cast<double>(width));
  rows_ = get_rows(flames_);
  std::vector<draw::box> boxes;
  boxes.reserve(flames_.size());
  for (const flame& each : flames_) boxes.push_back(make_box(with, words, each, 1 / with.px(row_height)));
  batch_.assign(0, boxes);
}

void flame_chart::draw_chart(view_context& with, const flame_words& words, bool changed) {
  const float bar = ImGui::GetStyle().ScrollbarSize;
  ImGui::BeginChild("chart", {0, 0}, ImGuiChildFlags_None);
  const float width = std::max(1.0F, ImGui::GetWindowWidth() - bar);
  const drawn_state now{zoomed_, words.weight, width, with.scale, with.colours.kind, search_};
  if (changed || !(now == drawn_)) {
    if (now.zoom != drawn_.zoom) ImGui::SetScrollY(0);
    drawn_ = now;
    upload(with, words, width);
  }
  const ImVec2 origin = ImGui::GetCursorScreenPos();
  const float line = with.px(row_height);
  const draw::rectangle area{origin, {origin.x + width, origin.y + line * static_cast<float>(rows_)}};
  ImGui::InvisibleButton("flames", {width, std::max(1.0F, area.height())});
  const bool hovered = ImGui::IsItemHovered();
  const bool clicked = ImGui::IsItemClicked(ImGuiMouseButton_Left);
  ImDrawList& list = *ImGui::GetWindowDrawList();
  with.boxes.add(list, batch_, area, {0, across_width}, static_cast<float>(rows_), with.colours.background);
  draw_labels(with, words, area, list);
  if (std::exchange(lit_version_, with.followed().version()) != with.followed().version() || changed) find_lit(with);
  draw_lit(with, area, list);
  if (hovered) hover(with, words, area, list, clicked);
  menu_.draw_opened(with);
  ImGui::EndChild();
}

/// Finds the boxes of the selected item's stack, and scrolls to the innermost of them.
void flame_chart::find_lit(const view_context& with) {
  const query::event_details* item = with.followed().details();
  lit_ = item == nullptr ? std::vector<std::uint32_t>() : find_stack(*shown_, item->stack);
  std::sort(lit_.begin(), lit_.end());
  const auto last = std::find_if(flames_.rbegin(), flames_.rend(), [&](const flame& each) {
    return std::binary_search(lit_.begin(), lit_.end(), each.node);
  });
  if (last == flames_.rend()) return;
  const float top = static_cast<float>(last->row) * with.px(row_height);
  const float visible = ImGui::GetWindowHeight();
  if (top < ImGui::GetScrollY() || top + with.px(row_height) > ImGui::GetScrollY() + visible)
    ImGui::SetScrollY(std::max(0.0F, top - visible * 0.5F));
}

/// Outlines the boxes of the selected item's stack.
void flame_chart::draw_lit(const view_context& with, const draw::rectangle& area, ImDrawList& list) const {
  if (lit_.empty()) return;
  for (const flame& each : flames_) {
    if (!std::binary_search(lit_.begin(), lit_.end(), each.node)) continue;
    const draw::rectangle box = get_place(with, area, each);
    list.AddRect(box.min, box.max, with.colours.background, 0, with.px(3));
    list.AddRect(box.min, box.max, with.colours.text, 0, with.px(2));
  }
}

void flame_chart::draw_labels(const view_context& with, const flame_words& words, const draw::rectangle& area,
                              ImDrawList& list) {
  const ImVec2 top = ImGui::GetWindowPos();
  const float bottom = top.y + ImGui::GetWindowHeight();
  ImGui::PushFont(nullptr, box_text);
  const float line = ImGui::GetTextLineHeight();
  for (const flame& each : flames_) {
    const draw::rectangle box = get_place(with, area, each);
    if (box.max.y < top.y || box.min.y > bottom) continue;
    const float left = box.min.x + with.px(5);
    const float right = box.max.x - with.px(4);
    if (right - left < with.px(22)) continue;
    // Hatched and dimmed boxes let the background show through.
    const draw::box drawn = make_box(with, words, each, 0);
    const bool bright = (drawn.style & (draw::hatched | draw::dimmed)) != 0;
    const std::string label = make_label(words, each.node, right - left);
    const ImVec2 size = ImGui::CalcTextSize(label.c_str());
    ImGui::PushStyleColor(ImGuiCol_Text, bright ? with.colours.text : with.colours.text_on(drawn.colour));
    ImGui::RenderTextEllipsis(&list, {left, std::floor(box.min.y + (box.height() - line) * 0.5F)}, {right, box.max.y},
                              right, label.c_str(), label.c_str() + label.size(), &size);
    ImGui::PopStyleColor();
  }
  ImGui::PopFont();
}

std::string flame_chart::make_label(const flame_words& words, std::uint32_t node, float room) const {
  const frame_line& line = shown_->lines[shown_->tree.nodes[node].line];
  std::string label = get_short_name(node);
  std::string more = line.file.empty() ? std::string() : "   " + symbols::get_place(line);
  more += "   " + words.metric(shown_->tree.nodes[node].all);
  return ImGui::CalcTextSize((label + more).c_str()).x < room ? label + more : label;
}

void flame_chart::hover(const view_context& with, const flame_words& words, const draw::rectangle& area,
                        ImDrawList& list, bool clicked) {
  const ImVec2 mouse = ImGui::GetMousePos();
  for (const flame& each : flames_) {
    const draw::rectangle box = get_place(with, area, each);
    if (!box.contains(mouse)) continue;
    list.AddRect(box.min, box.max, with.colours.text);
    tip(with, words, each.node);
    if (each.node != zoomed_) ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
    if (clicked && each.node != zoomed_) zoom_to(with, shown_->ids[each.node]);
    if (ImGui::IsMouseReleased(ImGuiMouseButton_Right)) open_menu(words, each.node);
    return;
  }
}

void flame_chart::open_menu(const flame_words& words, std::uint32_t at) {
  const metrics::stack_node& node = shown_->tree.nodes[at];
  row_target target;
  target.line = shown_->lines[node.line];
  const std::string text = symbols::to_text(*target.line) + "\t" + words.metric(node.all);
  menu_.open(target, symbols::get_name(*target.line), text,
             [this, id = shown_->ids[at], name = target.line->function](const view_context& with) {
               if (ImGui::MenuItem("Zoom in")) zoom_to(with, id);
               if (ImGui::MenuItem("Show all stacks", nullptr, false, zoom_ != 0)) zoom_to(with, 0);
               if (!name.empty() && ImGui::MenuItem("Highlight this name")) {
                 search_ = name;
                 matches_.clear();
               }
               ImGui::Separator();
             });
}

void flame_chart::tip(const view_context& with, const flame_words& words, std::uint32_t at) const {
  if (!begin_tip(with)) return;
  const metrics::stack_node& node = shown_->tree.nodes[at];
  const frame_line& line = shown_->lines[node.line];
  ImGui::PushTextWrapPos(with.px(520));
  ImGui::PushFont(with.fonts.bold, 0);
  ImGui::TextUnformatted(symbols::get_name(line).c_str());
  ImGui::PopFont();
  const std::string where = line.file.empty() ? line.module : line.file + ":" + std::to_string(line.line);
  if (!where.empty()) ImGui::TextDisabled("%s", where.c_str());
  if (!line.missing.empty()) ImGui::TextDisabled("%s", line.missing.c_str());
  if (!line.source.empty()) ImGui::TextUnformatted(line.source.c_str());
  ImGui::PopTextWrapPos();
  const float column = with.px(88);
  const stack_metrics& whole = shown_->tree.nodes.front().all;
  const auto share = [&](const stack_metrics& part) {
    return format_share(static_cast<double>(get_weight(part, words.weight)) /
                        static_cast<double>(std::max<std::uint64_t>(1, get_weight(whole, words.weight))));
  };
  tip_field(with, "share", share(node.all) + " of " + words.metric(whole), column);
  if (words.add_fields) words.add_fields(node);
  if (node.own.count > 0 && node.own.count != node.all.count) tip_field(with, "self", words.metric(node.own), column);
  end_tip();
}

}  // namespace sluice::gui
