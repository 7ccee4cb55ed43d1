#include "app/gui/shell/bars/verdict_bar.hpp"

#include <algorithm>
#include <cmath>

#include "app/gui/views/parts/widgets.hpp"
#include "app/gui/window/format.hpp"
#include "imgui_internal.h"

namespace sluice::gui {
namespace {

/// Sizes of the headline and of the line below it, in design pixels.
constexpr float headline_text = 20.0F;
constexpr float line_text = 13.5F;
/// In windows that are lower than this, the header has only one line.
constexpr float low_window = 520;
constexpr float padding = 12;
constexpr float gap = 22;

/// How the header is drawn in this frame.
struct look {
  float headline = headline_text;
  bool one_line = false;
};

float measure(std::string_view text, ImFont* font, float size) {
  ImGui::PushFont(font, size);
  const float width = ImGui::CalcTextSize(text.data(), text.data() + text.size()).x;
  ImGui::PopFont();
  return width;
}

float measure_line(ImFont* font, float size) {
  ImGui::PushFont(font, size);
  const float line = ImGui::GetTextLineHeight();
  ImGui::PopFont();
  return line;
}

float measure_figure(const view_context& with, const header_figure& of, const look& as) {
  const float value = measure(of.value, with.fonts.bold, as.headline);
  const float label = measure(of.label, nullptr, small_text);
  return as.one_line ? value + with.px(6) + label : std::max(value, label);
}

void draw_figure(const view_context& with, const header_figure& of, ImVec2 at, float width, const look& as) {
  ImDrawList& list = *ImGui::GetWindowDrawList();
  const ImU32 colour = of.alarming ? with.colours.failure : with.colours.text;
  const float value = measure(of.value, with.fonts.bold, as.headline);
  const float label = measure(of.label, nullptr, small_text);
  const float line = measure_line(with.fonts.bold, as.headline);
  ImGui::PushFont(with.fonts.bold, as.headline);
  const ImVec2 place{as.one_line ? at.x : at.x + width - value, at.y};
  list.AddText(place, colour, of.value.c_str());
  ImGui::LogRenderedText(&place, of.value.c_str());
  ImGui::PopFont();
  ImGui::PushFont(nullptr, small_text);
  const float y = as.one_line ? at.y + std::floor((line - ImGui::GetTextLineHeight()) * 0.6F) : at.y + line + 1;
  const ImVec2 below{at.x + width - label, y};
  list.AddText(below, with.colours.muted, of.label.c_str());
  ImGui::LogRenderedText(&below, of.label.c_str());
  ImGui::PopFont();
}

/// Draws the figures at the right end of the header. Returns the x coordinate at which they begin.
float draw_figures(const view_context& with, const header_text& text, float left, float right, float top,
                   const look& as) {
  std::vector<float> widths;
  for (const header_figure& each : text.figures) widths.push_back(measure_figure(with, each, as));
  const float headline = measure(text.headline, with.fonts.bold, as.headline);
  const std::size_t count = count_figures(widths, headline, right - left, with.px(gap));
  float x = right;
  for (std::size_t i = 0; i < count; ++i) x -= widths[i] + (i == 0 ? 0 : with.px(gap));
  const float begin = x;
  for (std::size_t i = 0; i < count; ++i) {
    draw_figure(with, text.figures[i], {std::floor(x), top}, widths[i], as);
    x += widths[i] + with.px(gap);
  }
  return count == 0 ? right : begin - with.px(gap);
}

ImU32 get_colour(const theme& colours, header_phrase::tone said) {
  switch (said) {
    case header_phrase::tone::saving:
      return colours.warning;
    case header_phrase::tone::good:
      return colours.good;
    case header_phrase::tone::plain:
      break;
  }
  return colours.muted;
}

/// Draws text up to `right` and cuts the rest off. Returns the x coordinate at its end.
float draw_cut(ImVec2 at, float right, ImU32 colour, std::string_view text) {
  if (at.x >= right) return at.x;
  const char* end = text.data() + text.size();
  const ImVec2 size = ImGui::CalcTextSize(text.data(), end);
  ImGui::PushStyleColor(ImGuiCol_Text, colour);
  ImGui::RenderTextEllipsis(ImGui::GetWindowDrawList(), at, {right, at.y + size.y + 2}, right, text.data(), end, &size);
  ImGui::PopStyleColor();
  return at.x + size.x;
}

/// Draws the second line. Returns whether it is cut off.
bool draw_line(const view_context& with, const header_text& text, ImVec2 at, float right) {
  ImGui::PushFont(nullptr, line_text);
  float x = at.x;
  for (const header_phrase& each : text.below) {
    if (&each != &text.below.front()) x = draw_cut({x, at.y}, right, with.colours.muted, "  \xC2\xB7  ");
    x = draw_cut({x, at.y}, right, get_colour(with.colours, each.said), each.text);
  }
  ImGui::PopFont();
  return x > right;
}

void draw_tip(const view_context& with, const header_text& text) {
  if (!with.tips || !ImGui::BeginTooltip()) return;
  ImGui::PushTextWrapPos(with.px(520));
  ImGui::PushFont(with.fonts.bold, 0);
  ImGui::TextUnformatted(text.headline.c_str());
  ImGui::PopFont();
  for (const header_phrase& each : text.below) ImGui::TextUnformatted(each.text.c_str());
  for (const header_figure& each : text.figures) ImGui::TextDisabled("%s  %s", each.value.c_str(), each.label.c_str());
  ImGui::PopTextWrapPos();
  ImGui::EndTooltip();
}

}  // namespace

void verdict_bar::follow(const document& shown) {
  if (shown.id != document_) {
    document_ = shown.id;
    query_ = {};
    of_ = nullptr;
    text_ = {};
  }
  if (!shown.ready()) {
    if (of_ == nullptr)
      text_ = {.headline = shown.live ? "Waiting for the first events" : "Opening the recording",
               .below = {},
               .figures = {}};
    return;
  }
  const auto result = query_.ask(*shown.engine, {});
  if (result && result.value != of_) {
    of_ = result.value;
    text_ = make_header(*of_);
  }
  if (of_ != nullptr) return;
  text_ = {.headline = result.failure ? "The report could not be computed" : "Computing the report",
           .below = {{result.failure ? result.failure->message
                                     : format_share(static_cast<double>(result.progress)) +
                                           " done. The timeline can already be used."}},
           .figures = {}};
}

void verdict_bar::draw(const view_context& with) {
  const document* shown = with.state.active();
  placed_ = drawn_;
  // A comparison has its own header.
  drawn_ = shown != nullptr && with.state.comparisons.front() == nullptr;
  if (!drawn_) return;
  follow(*shown);
  look as;
  as.one_line = ImGui::GetMainViewport()->Size.y < with.px(low_window);
  if (as.one_line) as.headline = 16;
  const float lines =
      measure_line(with.fonts.bold, as.headline) + (as.one_line ? 0 : measure_line(nullptr, line_text) + with.px(3));
  const float margin = with.px(as.one_line ? 5 : 8);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(0, 0));
  ImGui::PushStyleVar(ImGuiStyleVar_WindowMinSize, ImVec2(1, 1));
  const bool open = ImGui::BeginViewportSideBar(
      "##verdict", ImGui::GetMainViewport(), ImGuiDir_Up, lines + margin * 2 + 1,
      ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoDecoration);
  ImGui::PopStyleVar(2);
  if (open) {
    const ImVec2 origin = ImGui::GetWindowPos();
    const ImVec2 size = ImGui::GetWindowSize();
    ImDrawList& list = *ImGui::GetWindowDrawList();
    if (text_.failed) list.AddRectFilled(origin, {origin.x + with.px(4), origin.y + size.y - 1}, with.colours.failure);
    const float left = origin.x + with.px(padding), right = origin.x + size.x - with.px(padding);
    const float top = origin.y + margin;
    const float end = draw_figures(with, text_, left, right, top, as);
    ImGui::PushFont(with.fonts.bold, as.headline);
    const float line = ImGui::GetTextLineHeight();
    bool cut = draw_cut({left, top}, end, with.colours.text, text_.headline) > end;
    ImGui::PopFont();
    if (as.one_line)
      cut = true;
    else if (draw_line(with, text_, {left, top + line + with.px(3)}, end))
      cut = true;
    list.AddLineH(origin.x, origin.x + size.x, origin.y + size.y - 1, with.colours.line);
    if (cut && ImGui::IsWindowHovered() && ImGui::GetMousePos().x < end) draw_tip(with, text_);
  }
  ImGui::End();
}

}  // namespace sluice::gui
