#include "app/gui/views/welcome/welcome_parts.hpp"

#include <algorithm>
#include <cmath>

#include "app/gui/views/parts/widgets.hpp"
#include "app/gui/views/timeline/track_row.hpp"
#include "core/base/printable.hpp"
#include "imgui_internal.h"

namespace sluice::gui {
namespace {

ImU32 get_colour(const recordings::thumbnail& subject, const recordings::thumbnail_shape& shape, const theme& colours) {
  switch (shape.part) {
    case recordings::thumbnail_part::reserved:
      return colours.pool_free;
    case recordings::thumbnail_part::kernels:
      return colours.slice(query::slice_kind::kernel);
    case recordings::thumbnail_part::copies:
      return colours.directions[static_cast<std::size_t>(trace::direction::h2d)];
    case recordings::thumbnail_part::used:
      break;
  }
  return colours.of(subject.memory.bands[shape.band]);
}

float get_padding(const view_context& with) { return with.px(14); }

/// The columns of a recent file, as x positions from the left of its row.
struct recent_columns {
  float name = 0, date = 0, size = 0, verdict = 0, end = 0;
};

/// Leaves out the date and the size where the row is narrow.
recent_columns place_columns(const view_context& with, float width) {
  recent_columns at;
  const bool narrow = width < with.px(430);
  at.name = with.px(50);
  at.end = width - with.px(6);
  at.date = at.name + std::floor((at.end - at.name) * (narrow ? 0.5F : 0.36F));
  at.size = narrow ? at.date : at.date + with.px(82);
  at.verdict = narrow ? at.size : at.size + with.px(70);
  return at;
}

}  // namespace

void draw_thumbnail(const recordings::thumbnail& subject, const theme& colours, const draw::rectangle& area) {
  ImDrawList& list = *ImGui::GetWindowDrawList();
  for (const recordings::thumbnail_shape& shape : recordings::list_shapes(subject)) {
    const ImU32 colour = get_colour(subject, shape, colours);
    const float width = area.width() / static_cast<float>(std::max<std::size_t>(shape.bars.size(), 1));
    for (std::size_t i = 0; i < shape.bars.size(); ++i) {
      const auto [low, high] = shape.bars[i];
      if (high <= low) continue;
      const float left = area.min.x + static_cast<float>(i) * width;
      const float bottom = area.max.y - low * area.height();
      // A short kernel stays visible.
      list.AddRectFilled({left, std::min(area.max.y - high * area.height(), bottom - 1)}, {left + width, bottom},
                         colour);
    }
  }
}

float get_card_height(const view_context& with, float lines) {
  return std::floor(get_padding(with) * 2 + ImGui::GetTextLineHeight() * 1.2F +
                    lines * ImGui::GetFrameHeightWithSpacing());
}

void begin_card(const view_context& with, const char* title, ImVec2 size) {
  ImGui::PushStyleColor(ImGuiCol_ChildBg, with.colours.raised);
  ImGui::PushStyleVar(ImGuiStyleVar_ChildRounding, with.px(6));
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(get_padding(with), get_padding(with) * 0.8F));
  ImGui::BeginChild(title, size, ImGuiChildFlags_AlwaysUseWindowPadding);
  ImGui::PopStyleVar(2);
  ImGui::PopStyleColor();
  ImGui::PushFont(with.fonts.bold, 0);
  ImGui::TextUnformatted(title);
  ImGui::PopFont();
  ImGui::Dummy({0, with.px(2)});
}

void end_card() { ImGui::EndChild(); }

bool recording_card(const view_context& with, const recording_entry& each, const recordings::overview* about,
                    ImVec2 size) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float pad = with.px(10);
  ImGui::PushID(make_label(each.path).c_str());
  const bool clicked = ImGui::InvisibleButton("card", size);
  ImGui::PopID();
  const bool pointed = ImGui::IsItemHovered() || ImGui::IsItemFocused();
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddRectFilled(at, {at.x + size.x, at.y + size.y}, pointed ? with.colours.hover : with.colours.raised,
                      with.px(6));
  const float line = ImGui::GetTextLineHeight();
  const float text_top = at.y + size.y - pad - line * 3 - 2;
  const draw::rectangle area{{at.x + pad, at.y + pad}, {at.x + size.x - pad, text_top - with.px(8)}};
  if (about != nullptr) draw_thumbnail(about->picture, with.colours, area);
  const std::string title = printable(each.title), words = printable(each.shows);
  ImGui::PushFont(with.fonts.bold, 0);
  draw_text_until(*list, {area.min.x, text_top}, area.max.x, with.colours.text, title);
  ImGui::PopFont();
  list->PushClipRect({area.min.x, text_top}, {area.max.x, at.y + size.y - pad - 1}, true);
  list->AddText(nullptr, 0, {area.min.x, text_top + line + 1}, with.colours.muted, words.data(),
                words.data() + words.size(), area.width());
  list->PopClipRect();
  const bool cut = ImGui::CalcTextSize(words.c_str(), nullptr, false, area.width()).y > line * 2 + 2;
  if (ImGui::IsItemHovered(ImGuiHoveredFlags_DelayNormal) && (cut || about != nullptr))
    ImGui::SetTooltip("%s%s%s", words.c_str(), about != nullptr ? "\n" : "",
                      about != nullptr ? about->verdict.text.c_str() : "");
  return clicked;
}

bool recent_line(const view_context& with, const recent_row& row, float width) {
  const float height = std::floor(ImGui::GetTextLineHeight() + with.px(7));
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImGui::PushID(make_label(row.path).c_str());
  const bool clicked = ImGui::InvisibleButton("recent", {width, height});
  ImGui::PopID();
  const bool pointed = ImGui::IsItemHovered() || ImGui::IsItemFocused();
  ImDrawList& list = *ImGui::GetWindowDrawList();
  if (pointed) list.AddRectFilled(at, {at.x + width, at.y + height}, with.colours.hover, with.px(4));
  const recent_columns columns = place_columns(with, width);
  const float top = std::floor(at.y + (height - ImGui::GetTextLineHeight()) / 2);
  const auto write = [&](float from, float to, ImU32 colour, const std::string& text) {
    if (to - from > with.px(12)) draw_text_until(list, {at.x + from, top}, at.x + to - with.px(8), colour, text);
  };
  if (row.picture != nullptr)
    draw_thumbnail(row.picture->picture, with.colours,
                   {{at.x + with.px(4), at.y + with.px(3)}, {at.x + with.px(42), at.y + height - with.px(3)}});
  const ImU32 muted = with.colours.muted;
  write(columns.name, columns.date, row.missing ? muted : with.colours.text, row.name);
  write(columns.date, columns.size, muted, row.date);
  const float size_width = ImGui::CalcTextSize(row.size.c_str()).x;
  write(std::max(columns.size, columns.verdict - with.px(8) - size_width), columns.verdict + with.px(1), muted,
        row.size);
  write(columns.verdict, columns.end + with.px(8), row.bad ? with.colours.failure : muted,
        row.missing ? "the file is missing" : row.verdict);
  if (ImGui::IsItemHovered(ImGuiHoveredFlags_DelayNormal))
    ImGui::SetTooltip("%s/%s%s%s", row.folder.c_str(), row.name.c_str(), row.verdict.empty() ? "" : "\n",
                      row.verdict.c_str());
  return clicked && !row.missing;
}

bool flowing_button(const view_context& with, const std::string& text, const std::string& tip, bool first, float left,
                    float right) {
  const std::string label = make_label(printable(text));
  const float width = ImGui::CalcTextSize(label.c_str()).x + ImGui::GetStyle().FramePadding.x * 2;
  if (!first) ImGui::SameLine(0, with.px(6));
  if (first || ImGui::GetCursorPosX() + width > right) {
    if (!first) ImGui::NewLine();
    ImGui::SetCursorPosX(left);
  }
  const bool clicked = ImGui::Button(label.c_str());
  if (!tip.empty() && ImGui::IsItemHovered(ImGuiHoveredFlags_DelayNormal))
    ImGui::SetTooltip("%s", printable(tip).c_str());
  return clicked;
}

bool main_button(const view_context& with, const char* text) {
  ImGui::PushStyleColor(ImGuiCol_Button, mix(with.colours.raised, with.colours.accent, 0.34F));
  ImGui::PushStyleColor(ImGuiCol_ButtonHovered, mix(with.colours.raised, with.colours.accent, 0.46F));
  ImGui::PushStyleColor(ImGuiCol_ButtonActive, mix(with.colours.raised, with.colours.accent, 0.56F));
  const bool clicked = ImGui::Button(text);
  ImGui::PopStyleColor(3);
  return clicked;
}

}  // namespace sluice::gui
