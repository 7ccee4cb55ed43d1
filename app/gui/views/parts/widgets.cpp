#include "app/gui/views/parts/widgets.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <string>
#include <unordered_map>
#include <utility>

#include "app/gui/window/format.hpp"
#include "app/gui/window/glossary.hpp"
#include "core/base/format.hpp"
#include "core/base/printable.hpp"
#include "imgui_internal.h"

namespace sluice::gui {
namespace {

/// The printable form of a symbol. Results are cached, because names are needed in every frame. Not thread-safe; views
/// run on one thread.
std::string_view readable(std::string_view symbol) {
  constexpr std::size_t most = 65536;
  static std::unordered_map<std::string, std::string> known;
  std::string key(symbol);
  const auto found = known.find(key);
  if (found != known.end()) return found->second;
  if (known.size() >= most) return is_printable(symbol) ? symbol : "(not printable)";
  std::string name = printable(readable_name(symbol));
  return known.emplace(std::move(key), std::move(name)).first->second;
}

void plain(std::string_view text) { ImGui::TextUnformatted(text.data(), text.data() + text.size()); }

float measure_width(std::string_view text) { return ImGui::CalcTextSize(text.data(), text.data() + text.size()).x; }

/// Draws as much of the text as fits into `room` (`format::fitted`). If the user copies the window's text, all of this
/// text is copied.
void draw_fitted(ImVec2 at, std::string_view text, float room) {
  if (measure_width(text) <= room) return ImGui::RenderText(at, text.data(), text.data() + text.size(), false);
  const std::string cut = format::fitted(text, room, measure_width);
  ImGui::GetWindowDrawList()->AddText(at, ImGui::GetColorU32(ImGuiCol_Text), cut.data(), cut.data() + cut.size());
  if (ImGui::GetCurrentContext()->LogEnabled) ImGui::LogRenderedText(&at, text.data(), text.data() + text.size());
}

/// Shows a tooltip with the full form of a text that is cut off.
void whole_text_tip(std::string_view text) {
  if (!ImGui::BeginTooltip()) return;
  ImGui::PushTextWrapPos(ImGui::GetFontSize() * 50);
  plain(text);
  ImGui::PopTextWrapPos();
  ImGui::EndTooltip();
}

}  // namespace

std::string_view view_context::text(trace::string_id id) const {
  const document* shown = state.active();
  if (shown == nullptr || !shown->engine) return {};
  const std::string_view symbol = shown->engine->snapshot()->tables().text(id);
  return symbol.starts_with("_Z") || !is_printable(symbol) ? readable(symbol) : symbol;
}

void empty_state(const view_context& with, const char* icon, std::string_view headline, std::string_view advice) {
  const ImVec2 room = ImGui::GetContentRegionAvail();
  const float left = ImGui::GetCursorPosX();
  const float line = ImGui::GetTextLineHeightWithSpacing();
  const std::string words = format::apart(advice);
  // Make the lines about equally long, so that the last line is not a single word.
  const float widest = std::max(1.0F, std::min(room.x, with.px(420)));
  const float lines = std::max(1.0F, std::ceil(measure_width(words) / widest));
  const float wrap = std::min(widest, measure_width(words) / lines + with.px(30));
  const float advice_height = ImGui::CalcTextSize(words.c_str(), nullptr, false, wrap).y;
  const bool show_icon = icon != nullptr && room.y > line * 4 + advice_height;
  const float height = line + advice_height + (show_icon ? line * 1.8F : 0);
  ImGui::SetCursorPosY(ImGui::GetCursorPosY() + std::max(0.0F, (room.y - height) * 0.45F));
  const auto centre = [&](float width) { ImGui::SetCursorPosX(left + std::max(0.0F, (room.x - width) * 0.5F)); };
  if (show_icon) {
    ImGui::PushFont(nullptr, ImGui::GetStyle().FontSizeBase * 1.5F);
    centre(ImGui::CalcTextSize(icon).x);
    ImGui::TextDisabled("%s", icon);
    ImGui::PopFont();
  }
  centre(measure_width(headline));
  plain(headline);
  ImGui::PushStyleColor(ImGuiCol_Text, with.colours.muted);
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(0, with.px(1)));
  std::string_view rest = words;
  while (!rest.empty()) {
    const char* const end =
        ImGui::GetFont()->CalcWordWrapPosition(ImGui::GetFontSize(), rest.data(), rest.data() + rest.size(), wrap);
    const auto length = std::max<std::size_t>(1, static_cast<std::size_t>(end - rest.data()));
    const std::string_view text = rest.substr(0, length);
    centre(measure_width(text));
    plain(text);
    rest.remove_prefix(length);
    rest.remove_prefix(std::min(rest.find_first_not_of(" \n"), rest.size()));
  }
  ImGui::PopStyleVar();
  ImGui::PopStyleColor();
}

void field(const view_context& with, std::string_view label, std::string_view value, float column) {
  const float left = ImGui::GetCursorPosX();
  ImGui::PushStyleColor(ImGuiCol_Text, with.colours.muted);
  plain(label);
  ImGui::PopStyleColor();
  ImGui::SameLine(left + std::max(column, measure_width(label) + with.px(8)));
  ImGui::PushTextWrapPos(0);
  if (value.find("--") == std::string_view::npos) {
    plain(value);
  } else {
    plain(format::apart(value));
  }
  ImGui::PopTextWrapPos();
}

namespace {

/// Places the tooltip beside the mouse and inside the panel to which it belongs, so that it covers no other panel. If
/// there is not enough space, ImGui places it.
void place_tip(const view_context& with) {
  const ImGuiWindow* tip = ImGui::FindWindowByName("##Tooltip_00");
  if (tip == nullptr || !tip->WasActive) return;  // Its size is not known until it has been drawn once.
  const ImRect panel = ImGui::GetCurrentWindow()->RootWindow->Rect();
  const ImVec2 mouse = ImGui::GetMousePos();
  const ImVec2 away(with.px(16), with.px(10));
  const auto beside = [](float at, float gap, float size, float least, float most) {
    if (at + gap + size <= most) return at + gap;
    return at - gap - size >= least ? at - gap - size : std::max(least, most - size);
  };
  if (tip->Size.x > panel.GetWidth()) return;
  const ImGuiViewport* screen = ImGui::GetMainViewport();
  const bool fits = tip->Size.y <= panel.GetHeight();
  const float top = fits ? panel.Min.y : screen->WorkPos.y;
  const float bottom = fits ? panel.Max.y : screen->WorkPos.y + screen->WorkSize.y;
  const float x = beside(mouse.x, away.x, tip->Size.x, panel.Min.x, panel.Max.x);
  const float y = beside(mouse.y, away.y, tip->Size.y, top, bottom);
  ImGui::SetNextWindowPos({x, std::max(y, screen->WorkPos.y)});
}

}  // namespace

bool begin_tip(const view_context& with) {
  if (!with.tips) return false;
  place_tip(with);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(with.px(10), with.px(8)));
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(with.px(8), with.px(3)));
  if (ImGui::BeginTooltip()) return true;
  ImGui::PopStyleVar(2);
  return false;
}

void end_tip() {
  ImGui::EndTooltip();
  ImGui::PopStyleVar(2);
}

void tip_field(const view_context& with, std::string_view label, std::string_view value, float column) {
  const float left = ImGui::GetCursorPosX();
  ImGui::PushStyleColor(ImGuiCol_Text, with.colours.muted);
  plain(label);
  ImGui::PopStyleColor();
  ImGui::SameLine(left + std::max(column, measure_width(label) + with.px(12)));
  plain(value);
}

void glossary_tip(const view_context& with, std::string_view term) {
  if (ImGui::IsItemHovered(ImGuiHoveredFlags_DelayNormal | ImGuiHoveredFlags_AllowWhenDisabled)) show_term(with, term);
}

void show_term(const view_context& with, std::string_view term, std::string_view title) {
  const gui::term* found = find_term(term);
  if (found == nullptr || !begin_tip(with)) return;
  std::string name(title.empty() ? found->name : title);
  if (name[0] >= 'a' && name[0] <= 'z') name[0] = static_cast<char>(name[0] - 'a' + 'A');
  ImGui::PushTextWrapPos(with.px(360));
  ImGui::PushFont(with.fonts.bold, 0);
  plain(name);
  ImGui::PopFont();
  plain(found->explanation);
  ImGui::PopTextWrapPos();
  end_tip();
}

void heading(const view_context& with, std::string_view text) {
  if (ImGui::GetCursorPosY() > with.px(24)) ImGui::Dummy(ImVec2(0, with.px(4)));
  ImGui::PushFont(with.fonts.bold, 0);
  plain(text);
  ImGui::PopFont();
}

bool section(const view_context& with, std::string_view text, bool open_at_first) {
  if (ImGui::GetCursorPosY() > with.px(24)) ImGui::Dummy(ImVec2(0, with.px(2)));
  ImGui::PushFont(with.fonts.bold, 0);
  ImGui::PushStyleColor(ImGuiCol_Header, 0);
  ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, ImVec2(with.px(2), with.px(2)));
  ImGui::PushStyleVar(ImGuiStyleVar_FrameBorderSize, 0);
  // The number in a title may change, but the section stays the same.
  const std::string name(text.substr(0, text.find(" (")));
  const std::string label = make_label(text) + "###" + name;
  const bool open = ImGui::CollapsingHeader(label.c_str(), open_at_first ? ImGuiTreeNodeFlags_DefaultOpen : 0);
  ImGui::PopStyleVar(2);
  ImGui::PopStyleColor();
  ImGui::PopFont();
  return open;
}

void keep_on_screen(const view_context& with, const char* window) {
  const ImGuiViewport* screen = ImGui::GetMainViewport();
  const ImVec2 most(std::max(1.0F, screen->Size.x - with.px(24)), std::max(1.0F, screen->Size.y - with.px(60)));
  ImGui::SetNextWindowSizeConstraints({std::min(with.px(200), most.x), std::min(with.px(80), most.y)}, most);
  const ImGuiWindow* known = ImGui::FindWindowByName(window);
  if (known == nullptr || !known->WasActive) return;
  const auto inside = [](float at, float begin, float room, float size) {
    return std::max(begin, std::min(at, begin + room - size));
  };
  const ImVec2 at(inside(known->Pos.x, screen->Pos.x, screen->Size.x, std::min(known->Size.x, most.x)),
                  inside(known->Pos.y, screen->Pos.y, screen->Size.y, std::min(known->Size.y, most.y)));
  if (at.x != known->Pos.x || at.y != known->Pos.y) ImGui::SetNextWindowPos(at);
}

bool amount_line(const view_context& with, std::string_view amount, double share, ImU32 colour, std::string_view text,
                 std::string_view detail) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const ImVec2 room(std::max(1.0F, ImGui::GetContentRegionAvail().x), ImGui::GetTextLineHeight() + with.px(4));
  const bool clicked = ImGui::InvisibleButton("line", room, ImGuiButtonFlags_EnableNav);
  const bool over = ImGui::IsItemHovered();
  ImDrawList& list = *ImGui::GetWindowDrawList();
  if (over) list.AddRectFilled(at, {at.x + room.x, at.y + room.y}, with.colours.hover);
  const float bar = std::floor(room.x * static_cast<float>(std::clamp(share, 0.0, 1.0)));
  list.AddRectFilled({at.x, at.y + room.y - with.px(2)}, {at.x + std::max(bar, 1.0F), at.y + room.y}, colour);
  const float y = at.y + with.px(1);
  const float amounts = at.x + with.px(70);
  const float shares = amounts + with.px(46);
  const std::string percent = format_share(share);
  ImGui::RenderText({amounts - measure_width(amount), y}, amount.data(), amount.data() + amount.size(), false);
  ImGui::PushStyleColor(ImGuiCol_Text, with.colours.muted);
  ImGui::RenderText({shares - measure_width(percent), y}, percent.c_str(), nullptr, false);
  ImGui::PopStyleColor();
  const float left = shares + with.px(10);
  const float right = at.x + room.x;
  const float width = measure_width(text);
  const float detail_width = measure_width(detail);
  ImGui::PushStyleColor(ImGuiCol_Text, over ? with.colours.accent : with.colours.text);
  draw_fitted({left, y}, text, right - left);
  ImGui::PopStyleColor();
  const float behind = left + width + with.px(12);
  if (!detail.empty() && behind + with.px(24) < right) {
    ImGui::PushStyleColor(ImGuiCol_Text, with.colours.muted);
    draw_fitted({behind, y}, detail, right - behind);
    ImGui::PopStyleColor();
  }
  if (over) ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
  const bool cut = left + width > right || (!detail.empty() && behind + detail_width > right);
  if (cut && ImGui::IsItemHovered(ImGuiHoveredFlags_DelayShort))
    whole_text_tip(detail.empty() ? std::string(text) : std::string(text).append("\n").append(detail));
  return clicked && !ImGui::GetIO().KeyCtrl && !ImGui::GetIO().KeyShift;
}

void clipped_text(std::string_view text, float width) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float line = ImGui::GetTextLineHeight();
  const float needed = measure_width(text);
  const ImVec2 vec2{at.x, at.y + ImGui::GetCurrentWindow()->DC.CurrLineTextBaseOffset};
  draw_fitted(vec2, text, width);
  ImGui::Dummy(ImVec2(std::min(width, needed), line));
  if (needed > width && ImGui::IsItemHovered(ImGuiHoveredFlags_DelayShort)) whole_text_tip(text);
}

bool command_button(const view_context& with, std::string_view id, const char* label, bool icon_only) {
  const command* subject = with.commands.find(id);
  if (subject == nullptr) return false;
  std::string face;
  if (subject->icon != nullptr) face = subject->icon;
  if (!icon_only) {
    if (!face.empty()) face += "  ";
    face += label != nullptr ? label : subject->title;
  }
  face += "###";  // keeps the item's identity if its label changes
  face += id;
  ImGui::BeginDisabled(!with.commands.enabled(*subject));
  const bool pressed =
      icon_only ? ImGui::Button(face.c_str(), ImVec2(ImGui::GetFrameHeight() * 1.15F, 0)) : ImGui::Button(face.c_str());
  ImGui::EndDisabled();
  if (ImGui::IsItemHovered(ImGuiHoveredFlags_DelayNormal | ImGuiHoveredFlags_AllowWhenDisabled)) {
    const std::string keys = key_text(*subject);
    if (keys.empty()) {
      if (icon_only) ImGui::SetTooltip("%s", subject->title.c_str());
    } else {
      ImGui::SetTooltip("%s  (%s)", subject->title.c_str(), keys.c_str());
    }
  }
  if (pressed) with.commands.invoke(id);
  return pressed;
}

void swatch(const view_context& with, ImU32 colour, bool outlined) {
  const float side = with.px(9);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float top = at.y + (ImGui::GetTextLineHeight() - side) * 0.5F;
  const ImVec2 min(std::floor(at.x), std::floor(top));
  const ImVec2 max(min.x + side, min.y + side);
  ImDrawList* list = ImGui::GetWindowDrawList();
  if (outlined) {
    list->AddRectFilled(min, max, mix(with.colours.background, colour, 0.35F));
    list->AddRect(min, max, colour);
  } else {
    list->AddRectFilled(min, max, colour);
  }
  ImGui::Dummy(ImVec2(side, ImGui::GetTextLineHeight()));
  ImGui::SameLine(0, with.px(6));
}

bool link(const view_context& with, std::string_view text) {
  ImGuiWindow* window = ImGui::GetCurrentWindow();
  if (window->SkipItems) return false;
  const char* const begin = text.data();
  const char* const end = text.data() + text.size();
  // The link is an item, like ImGui::TextLink, so that it can be reached with the keyboard; it wraps like text.
  const ImVec2 at(window->DC.CursorPos.x, window->DC.CursorPos.y + window->DC.CurrLineTextBaseOffset);
  const float wrap = window->DC.TextWrapPos >= 0 ? ImGui::CalcWrapWidthForPos(at, window->DC.TextWrapPos) : 0;
  const ImVec2 size = ImGui::CalcTextSize(begin, end, false, wrap > 0 ? wrap : -1);
  const ImRect area(at, {at.x + size.x, at.y + size.y});
  const ImGuiID id = window->GetID(begin, end);
  ImGui::ItemSize(size, 0);
  if (!ImGui::ItemAdd(area, id)) return false;
  bool over = false;
  bool held = false;
  const bool pressed = ImGui::ButtonBehavior(area, id, &over, &held);
  ImGui::RenderNavCursor(area, id);
  if (over) {
    ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
    window->DrawList->AddLineH(area.Min.x, area.Max.x, area.Max.y, with.colours.accent);
  }
  ImGui::PushStyleColor(ImGuiCol_Text, with.colours.accent);
  if (wrap > 0) {
    ImGui::RenderTextWrapped(at, begin, end, wrap);
  } else {
    ImGui::RenderText(at, begin, end, false);
  }
  ImGui::PopStyleColor();
  [[maybe_unused]] ImGuiContext& g = *ImGui::GetCurrentContext();  // The macro uses this name.
  IMGUI_TEST_ENGINE_ITEM_INFO(id, std::string(text).c_str(), ImGuiItemStatusFlags_None);
  return pressed;
}

void progress_line(const view_context& with, bool complete, float progress) {
  if (complete) return;
  const ImVec2 at = ImGui::GetWindowPos();
  const float width = ImGui::GetWindowSize().x;
  const float share = std::clamp(progress, 0.05F, 1.0F);
  ImGui::GetWindowDrawList()->AddRectFilled(at, ImVec2(at.x + std::floor(width * share), at.y + with.px(2)),
                                            with.colours.accent);
}

void row_scroll_bar(const view_context& with, ImVec2 at, ImVec2 size, std::int64_t rows, std::int64_t fits,
                    std::int64_t& first) {
  if (rows <= fits || size.y <= with.px(24)) return;
  ImGui::SetCursorScreenPos(at);
  ImGui::InvisibleButton("scroll", size);
  const float grip = std::max(with.px(18), size.y * static_cast<float>(fits) / static_cast<float>(rows));
  const double room = static_cast<double>(size.y) - static_cast<double>(grip);
  const auto last_first = static_cast<double>(rows - fits);
  if (ImGui::IsItemActive())
    first = static_cast<std::int64_t>(
        std::clamp((static_cast<double>(ImGui::GetMousePos().y - at.y - grip * 0.5F)) / room, 0.0, 1.0) * last_first);
  const float top = at.y + static_cast<float>(room * std::clamp(static_cast<double>(first) / last_first, 0.0, 1.0));
  const ImU32 colour = ImGui::IsItemActive() || ImGui::IsItemHovered() ? with.colours.muted : with.colours.line;
  ImGui::GetWindowDrawList()->AddRectFilled({at.x + with.px(2), std::floor(top)},
                                            {at.x + size.x - with.px(2), std::floor(top + grip)}, colour, with.px(3));
}

const char* slice_kind_name(query::slice_kind kind) {
  static constexpr const char* names[] = {"Kernel",
                                          "Copy, host to device",
                                          "Copy, device to host",
                                          "Copy, device to device",
                                          "Copy, peer to peer",
                                          "Copy, host to host",
                                          "Memset",
                                          "Migration",
                                          "API call",
                                          "Wait",
                                          "Range",
                                          "File I/O",
                                          "Marker",
                                          "Graph",
                                          "Step"};
  static_assert(std::size(names) == static_cast<std::size_t>(query::slice_kind::step) + 1);
  const auto number = static_cast<std::size_t>(kind);
  return number < std::size(names) ? names[number] : "Event";
}

void place_control(float width, float gap) {
  ImGui::SameLine(0, gap);
  if (ImGui::GetContentRegionAvail().x < width) ImGui::NewLine();
}

bool check_box(const view_context& with, const char* label, bool* on) {
  ImGui::PushStyleColor(ImGuiCol_Border, mix(with.colours.muted, with.colours.background, 0.4F));
  const bool changed = ImGui::Checkbox(label, on);
  ImGui::PopStyleColor();
  return changed;
}

bool radio_button(const view_context& with, const char* label, bool on) {
  ImGui::PushStyleColor(ImGuiCol_Border, mix(with.colours.muted, with.colours.background, 0.4F));
  const bool pressed = ImGui::RadioButton(label, on);
  ImGui::PopStyleColor();
  return pressed;
}

const char* get_title(symbols::attribution by) {
  static constexpr std::array<const char*, symbols::attribution_count> titles = {"your code line", "caller", "module",
                                                                                 "package", "owner library"};
  return titles[static_cast<std::size_t>(by)];
}

}  // namespace sluice::gui
