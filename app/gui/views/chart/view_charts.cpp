#include "app/gui/views/chart/view_charts.hpp"

#include <array>
#include <cmath>

#include "app/gui/views/parts/item_menu.hpp"
#include "app/gui/views/parts/panel_parts.hpp"
#include "app/gui/views/parts/widgets.hpp"
#include "imgui_internal.h"

namespace sluice::gui {
namespace {

constexpr std::size_t many_dots = 3000;  // Circles would then take too long.

/// Draws one chart.
class chart_drawing {
 public:
  chart_drawing(const view_context& with, const chart_layout& at, const chart_metrics& sizes)
      : with_(with), at_(at), model_(*at.model), sizes_(sizes), list_(*ImGui::GetWindowDrawList()) {}

  void draw_axes() {
    if (!model_.axes) return draw_base();
    draw_y_labels();
    if (model_.x.logarithmic && model_.y.logarithmic)
      for (const format::tick& each : at_.x_ticks(sizes_))
        list_.AddLineV(std::floor(at_.to_x(each.value)), at_.area.min.y, at_.area.max.y, with_.colours.grid);
    draw_base();
    float free = -1e9F;
    for (const format::tick& each : at_.x_ticks(sizes_)) {
      const float x = std::floor(at_.to_x(each.value));
      const float wide = sizes_.measure(each.label);
      if (x < at_.area.min.x || x > at_.area.max.x) continue;
      const float last = at_.area.max.x + sizes_.px(8) - wide;
      const float left = std::max(at_.area.min.x, std::min(std::floor(x - wide * 0.5F), last));
      if (left < free) continue;
      if (model_.x.kind != axis_kind::items || model_.x.label_at == 0)
        list_.AddLineV(x, at_.area.max.y, at_.area.max.y + sizes_.px(4), with_.colours.line);
      write({left, at_.area.max.y + sizes_.px(5)}, each.label, with_.colours.muted);
      free = left + wide + sizes_.px(8);
    }
    // The title is left of the labels, where it takes no place from them.
    write({at_.area.min.x - sizes_.px(6) - sizes_.measure(model_.x.title), at_.area.max.y + sizes_.px(5)},
          model_.x.title, with_.colours.muted);
  }

  void draw_values() {
    list_.PushClipRect({at_.area.min.x, at_.area.min.y}, {at_.area.max.x + 1, at_.area.max.y + 1}, true);
    for (const chart_series& each : model_.series) {
      if (each.look == series_look::bars) draw_bars(each);
      if (each.look == series_look::boxes) draw_boxes(each);
    }
    for (const chart_mark& each : model_.marks)
      if (each.kind == mark_kind::range)
        list_.AddRectFilled({at_.to_x(each.at), at_.area.min.y}, {at_.to_x(each.to), at_.area.max.y}, each.colour);
    for (const chart_mark& each : model_.marks)
      if (each.kind == mark_kind::level) draw_level(each);
    for (const chart_series& each : model_.series) {
      if (each.look == series_look::steps) draw_steps(each);
      if (each.look == series_look::line) draw_line(each);
    }
    for (const chart_series& each : model_.series)
      if (each.look == series_look::dots) draw_dots(each);
    for (const chart_mark& each : model_.marks)
      if (each.kind == mark_kind::moment && each.label.empty()) draw_moment(each);
    list_.PopClipRect();
  }

  /// Draws what is in the row above the area. Returns the mark under the mouse.
  const chart_mark* draw_header(bool hovered) {
    if (at_.header <= 0) return nullptr;
    const float right = at_.area.max.x + sizes_.px(8);
    const float y = at_.area.min.y - sizes_.text - sizes_.px(6);
    if (const std::string& title = model_.y.title; !title.empty())
      write({at_.area.min.x - sizes_.px(6) - sizes_.measure(title), y}, title, with_.colours.muted);
    if (model_.legend) draw_legend({at_.area.min.x, y}, right);
    draw_cut_off(right);
    return draw_marks(hovered, right);
  }

  void draw_crosshair(float x) {
    list_.AddLineV(std::floor(x), at_.area.min.y, at_.area.max.y, with_.colours.muted);
    const double place = at_.x_at(x);
    for (const chart_series& each : model_.series) {
      if (each.look != series_look::steps) continue;
      const auto after = std::upper_bound(each.points.begin(), each.points.end(), place,
                                          [](double at, const chart_point& point) { return at < point.end; });
      if (after == each.points.end() || place < after->begin) continue;
      const float y = at_.to_y(after->high);
      if (y >= at_.area.min.y && y <= at_.area.max.y)
        list_.AddCircleFilled({std::floor(x), y}, sizes_.px(3), get_colour(each, *after));
    }
  }

 private:
  void write(ImVec2 at, std::string_view text, ImU32 colour) {
    if (!text.empty())
      list_.AddText(with_.fonts.regular, sizes_.text, at, colour, text.data(), text.data() + text.size());
  }
  static ImU32 get_colour(const chart_series& of, const chart_point& point) {
    return point.colour != 0 ? point.colour : of.colour;
  }

  void draw_base() { list_.AddLineH(at_.area.min.x, at_.area.max.x, at_.area.max.y, with_.colours.line); }

  void draw_y_labels() {
    float free = 1e9F;  // Labels end above this position, or below it if the axis points downward.
    if (model_.downward) free = -1e9F;
    for (const format::tick& each : at_.y_ticks(sizes_)) {
      const float y = std::floor(at_.to_y(each.value));
      if (y < at_.area.min.y || y > at_.area.max.y) continue;
      const bool item = model_.y.kind == axis_kind::items;
      if (!item) list_.AddLineH(at_.area.min.x, at_.area.max.x, y, with_.colours.grid);
      const float top = std::floor(y - sizes_.text * 0.5F - 1);
      if (model_.downward ? top < free : top + sizes_.text > free) continue;
      free = model_.downward ? top + sizes_.text : top;
      const float right = at_.area.min.x - sizes_.px(6);
      const bool warns =
          item && model_.y.stands_out && model_.y.stands_out(std::lround(each.value - model_.y.label_at));
      write({right - sizes_.measure(each.label), top}, each.label, warns ? with_.colours.warning : with_.colours.muted);
    }
  }

  void draw_bars(const chart_series& of) {
    struct column {
      float left = 0, right = 0, top = 0;
      ImU32 colour = 0;
      bool stands_out = false, chosen = false;
    };
    std::optional<column> open;
    const auto close = [&] {
      if (!open) return;
      const float wide = open->right - open->left;
      const float gap = of.parted && wide > sizes_.px(4) ? sizes_.px(1) : 0;
      list_.AddRectFilled({open->left, open->top}, {std::max(open->right - gap, open->left + 1), at_.area.max.y},
                          open->chosen ? model_.chosen_colour : open->colour);
      open.reset();
    };
    for (const chart_point& each : of.points) {
      if (!(each.high > 0) || each.end < model_.x.low || each.begin > model_.x.high) continue;
      const float left = std::floor(at_.to_x(each.begin)), right = std::floor(at_.to_x(each.end));
      const float top = std::min(std::floor(at_.to_y(each.high)), at_.area.max.y - sizes_.px(2));
      const column next{left, right, top, get_colour(of, each), each.stands_out, of.chosen == each.item};
      // Several bars that share a pixel become one: the highest, in the colour of one that stands out.
      if (open && right <= open->left + 1) {
        open->top = std::min(open->top, top);
        open->chosen |= next.chosen;
        if (next.stands_out && !open->stands_out) open->colour = next.colour;
        open->stands_out |= next.stands_out;
        continue;
      }
      close();
      open = next;
    }
    close();
  }

  void draw_boxes(const chart_series& of) {
    const float gap = sizes_.px(3);
    for (const chart_point& each : of.points) {
      if (each.end < model_.x.low || each.begin > model_.x.high) continue;
      const float left = std::floor(at_.to_x(each.begin)), right = std::floor(at_.to_x(each.end));
      float top = std::floor(at_.to_y(each.high)), bottom = std::floor(at_.to_y(each.low));
      if (model_.downward) std::swap(top, bottom);
      if (bottom <= top) continue;
      const bool chosen = of.chosen == each.item;
      const ImU32 plain = get_colour(of, each);
      // Leave a line of background between neighbours if there is space.
      const float under = of.parted && bottom - top >= gap ? bottom - 1 : bottom;
      const float beside = each.ends && right - left >= gap ? right - 1 : right;
      list_.AddRectFilled({left, top}, {std::max(beside, left + 1), under},
                          chosen || of.highlighted == each.item ? mix(plain, with_.colours.text, 0.45F) : plain);
      if (chosen)
        list_.AddRect({left, top}, {std::max(right, left + 2), bottom}, model_.chosen_colour, 0, sizes_.px(1.5F));
    }
  }

  /// Draws a curve as boxes. Where it changes several times in a pixel, draws one box from its lowest to its highest
  /// value there.
  void draw_steps(const chart_series& of) {
    if (of.outlined) draw_steps(of, with_.colours.background, sizes_.px(of.thickness + 2), sizes_.px(1));
    draw_steps(of, 0, std::max(1.0F, sizes_.px(of.thickness)), 0);
  }
  void draw_steps(const chart_series& of, ImU32 instead, float thick, float beyond) {
    float before = -1, end_before = 0;     // The height of the curve on the left, and where it ended.
    float low = 0, high = 0, column = -1;  // The box of a pixel column that is being collected.
    ImU32 column_colour = 0;
    const auto flush = [&] {
      if (column < 0) return;
      list_.AddRectFilled({column - beyond, low - beyond}, {column + thick - beyond, high + thick - beyond},
                          column_colour);
      column = -1;
    };
    for (const chart_point& each : of.points) {
      if (each.end < model_.x.low || each.begin > model_.x.high) continue;
      const float left = std::floor(at_.to_x(std::max(each.begin, model_.x.low)));
      const float right = std::floor(at_.to_x(std::min(each.end, model_.x.high)));
      const float y = std::floor(std::min(at_.to_y(each.high), at_.area.max.y - 1));
      const ImU32 colour = instead != 0 ? instead : get_colour(of, each);
      const bool joins = before >= 0 && end_before >= left;
      const float from = joins ? std::min(before, y) : y, until = joins ? std::max(before, y) : y;
      if (column == left) {
        low = std::min(low, from);
        high = std::max(high, until);
      } else {
        flush();
        column = left, low = from, high = until, column_colour = colour;
      }
      before = y;
      end_before = right;
      if (right <= left) continue;
      if (right - left <= thick) {  // Too short for a line of its own: one box together with the change before it.
        list_.AddRectFilled({left - beyond, low - beyond}, {right + beyond, high + thick - beyond}, colour);
        column = -1;
        continue;
      }
      if (low != high) flush();
      column = -1;
      list_.AddRectFilled({left - beyond, y - beyond}, {right + beyond, y + thick - beyond}, colour);
    }
    flush();
  }

  void draw_line(const chart_series& of) {
    static thread_local std::vector<ImVec2> points;
    points.clear();
    for (const chart_point& each : of.points) points.emplace_back(at_.to_x(each.begin), at_.to_y(each.high));
    if (points.size() > 1)
      list_.AddPolyline(points.data(), static_cast<int>(points.size()), of.colour, sizes_.px(of.thickness),
                        ImDrawFlags_None);
  }

  void draw_dots(const chart_series& of) {
    for (const chart_point& each : of.points) {
      const ImVec2 centre(at_.to_x(each.begin), at_.to_y(each.high));
      const float radius = each.radius * sizes_.scale;
      if (of.points.size() > many_dots) {
        list_.AddRectFilled({centre.x - radius, centre.y - radius}, {centre.x + radius, centre.y + radius},
                            get_colour(of, each));
      } else {
        list_.AddCircleFilled(centre, radius, get_colour(of, each), 10);
      }
      if (of.chosen == each.item) list_.AddCircle(centre, radius + sizes_.px(3), model_.chosen_colour, 0, sizes_.px(2));
    }
  }

  void draw_level(const chart_mark& mark) {
    const float y = std::floor(at_.to_y(mark.at));
    if (y < at_.area.min.y || y > at_.area.max.y) return;
    const float half = std::floor(sizes_.px(mark.thickness) * 0.5F);
    list_.AddRectFilled({at_.area.min.x, y - half},
                        {at_.area.max.x, y - half + std::max(1.0F, sizes_.px(mark.thickness))}, mark.colour);
    if (mark.label.empty()) return;
    // Above the line or, if there is no space, a dot or another label, below it; at the left end or at the right one.
    const float wide = sizes_.measure(mark.label);
    for (const float left : {at_.area.min.x + sizes_.px(6), at_.area.max.x - sizes_.px(6) - wide})
      for (const float top : {y - sizes_.text - sizes_.px(3), y + sizes_.px(3)}) {
        const draw::rectangle place{{left, top}, {left + wide, top + sizes_.text}};
        if (place.min.y < at_.area.min.y || place.max.y > at_.area.max.y || holds_dot(place) || !take(place)) continue;
        return write(place.min, mark.label, mark.colour);
      }
  }

  [[nodiscard]] bool holds_dot(const draw::rectangle& place) const {
    const float air = sizes_.px(4);
    return std::any_of(model_.series.begin(), model_.series.end(), [&](const chart_series& of) {
      return of.look == series_look::dots && std::any_of(of.points.begin(), of.points.end(), [&](const auto& each) {
               const float x = at_.to_x(each.begin), dot = at_.to_y(each.high);
               return x > place.min.x - air && x < place.max.x + air && dot > place.min.y - air &&
                      dot < place.max.y + air;
             });
    });
  }

  void draw_moment(const chart_mark& mark) {
    const float x = std::floor(at_.to_x(mark.at));
    if (x < at_.area.min.x || x > at_.area.max.x) return;
    list_.AddRectFilled({x, at_.area.min.y}, {x + std::max(1.0F, sizes_.px(mark.thickness)), at_.area.max.y},
                        mark.colour);
  }

  /// Draws the marks that have a label above the area.
  const chart_mark* draw_marks(bool hovered, float right_end) {
    const ImVec2 mouse = ImGui::GetMousePos();
    const float side = sizes_.px(4);
    const chart_mark* over = nullptr;
    for (const chart_mark& mark : model_.marks) {
      const bool flag = mark.kind == mark_kind::flag;
      if (!flag && (mark.kind != mark_kind::moment || mark.label.empty())) continue;
      const float x = std::floor(at_.to_x(mark.at));
      if (x < at_.area.min.x || x > at_.area.max.x) continue;
      const float y = at_.area.min.y;
      if (flag) list_.AddTriangleFilled({x - side, y - side * 1.5F}, {x + side, y - side * 1.5F}, {x, y}, mark.colour);
      list_.AddLineV(x, flag ? y : y - sizes_.px(2), at_.area.max.y,
                     flag ? mix(mark.colour, with_.colours.background, 0.4F) : mark.colour);
      const float wide = sizes_.measure(mark.label);
      const float beside = (flag ? side : 0) + sizes_.px(3);
      draw::rectangle hit{{x - side, y - sizes_.text - sizes_.px(6)}, {x + side, y}};
      for (const float left : {x + beside, x - beside - wide}) {
        const draw::rectangle place{{left, y - sizes_.text - sizes_.px(3)}, {left + wide, y - sizes_.px(3)}};
        if (left < at_.area.min.x || place.max.x > right_end || !take(place)) continue;
        write(place.min, mark.label, mark.colour);
        hit.min.x = std::min(hit.min.x, left);
        hit.max.x = std::max(hit.max.x, place.max.x);
        break;
      }
      if (hovered && mark.click && hit.contains(mouse)) over = &mark;
    }
    return over;
  }

  /// Writes the values of the bars that are higher than the axis above them, and interrupts these bars.
  void draw_cut_off(float right_end) {
    for (const chart_series& of : model_.series) {
      if (of.look != series_look::bars) continue;
      for (const chart_point& each : of.points) {
        if (!(each.high > model_.y.high) || each.end < model_.x.low || each.begin > model_.x.high) continue;
        const float left = std::floor(at_.to_x(each.begin)), right = std::max(left + 1, std::floor(at_.to_x(each.end)));
        const float y = at_.area.min.y + sizes_.px(5);
        list_.AddQuadFilled({left - 1, y + sizes_.px(2)}, {right + 1, y - sizes_.px(1)}, {right + 1, y + sizes_.px(1)},
                            {left - 1, y + sizes_.px(4)}, with_.colours.background);
        const std::string label = format::axis_value(each.high, model_.y.unit);
        const float wide = sizes_.measure(label);
        const float start = std::clamp(std::floor((left + right - wide) * 0.5F), at_.area.min.x,
                                       std::max(at_.area.min.x, right_end - wide));
        const draw::rectangle place{{start, at_.area.min.y - sizes_.text - sizes_.px(3)},
                                    {start + wide, at_.area.min.y - sizes_.px(3)}};
        if (start + wide <= right_end && take(place)) write(place.min, label, with_.colours.muted);
      }
    }
  }

  /// Names the series, each name once.
  void draw_legend(ImVec2 at, float right) {
    const float side = sizes_.px(8);
    std::vector<std::string_view> known;
    for (const chart_series& each : model_.series) {
      if (each.name.empty() || std::find(known.begin(), known.end(), each.name) != known.end()) continue;
      known.push_back(each.name);
      const float wide = sizes_.measure(each.name);
      if (at.x + side + sizes_.px(5) + wide > right) return;
      const float middle = std::floor(at.y + sizes_.text * 0.5F);
      if (each.look == series_look::dots) {
        list_.AddCircleFilled({at.x + side * 0.5F, middle}, side * 0.5F, each.colour);
      } else if (each.look == series_look::steps || each.look == series_look::line) {
        list_.AddRectFilled({at.x, middle}, {at.x + side, middle + std::max(1.0F, sizes_.px(1.5F))}, each.colour);
      } else {
        list_.AddRectFilled({at.x, middle - side * 0.5F}, {at.x + side, middle + side * 0.5F}, each.colour);
      }
      write({at.x + side + sizes_.px(5), at.y}, each.name, with_.colours.text);
      at.x += side + wide + sizes_.px(18);
      taken_.push_back({{at.x - side - wide - sizes_.px(18), at.y}, {at.x, at.y + sizes_.text}});
    }
  }

  /// Reserves a place for a label. Returns false if it would collide with another.
  bool take(const draw::rectangle& place) {
    const float air = sizes_.px(4);
    for (const draw::rectangle& each : taken_)
      if (place.min.x < each.max.x + air && each.min.x < place.max.x + air && place.min.y < each.max.y &&
          each.min.y < place.max.y)
        return false;
    taken_.push_back(place);
    return true;
  }

  const view_context& with_;
  const chart_layout& at_;
  const chart_model& model_;
  const chart_metrics& sizes_;
  ImDrawList& list_;
  std::vector<draw::rectangle> taken_;  ///< The places of labels.
};

void draw_tip_of(const view_context& with, const chart_tip& tip) {
  if (tip.empty() || !begin_tip(with)) return;
  float wide = 0;
  for (const chart_tip::line& each : tip.lines)
    if (!each.value.empty()) wide = std::max(wide, ImGui::CalcTextSize(each.label.c_str()).x);
  for (const chart_tip::line& each : tip.lines) {
    if (each.swatch != 0) swatch(with, each.swatch);
    if (each.value.empty()) {
      ImGui::PushStyleColor(ImGuiCol_Text, each.muted ? with.colours.muted : with.colours.text);
      ImGui::TextUnformatted(each.label.c_str());
      ImGui::PopStyleColor();
    } else {
      tip_field(with, each.label, each.value, wide + with.px(16));
    }
  }
  if (tip.draw_more) tip.draw_more();
  end_tip();
}

/// Draws "clipped  linear  log" with its right end at `right`.
void draw_scales(const view_context& with, const chart_model& model, const chart_metrics& sizes, ImVec2 right,
                 value_scale applied, value_scale& chosen) {
  static constexpr std::array<const char*, value_scale_count> about = {
      "Bars that are far higher than the others are cut off; their values are above them.",
      "From 0 to the highest bar.", "Each step up is ten times as much."};
  ImGui::PushFont(nullptr, small_text);
  float x = right.x;
  for (std::size_t i = value_scale_count; i-- > 0;) {
    const auto each = static_cast<value_scale>(i);
    const char* name = get_name(each);
    const float wide = sizes.measure(name);
    x -= wide;
    ImGui::SetCursorScreenPos({x, right.y});
    if (ImGui::InvisibleButton(name, {wide, sizes.text + sizes.px(3)}, ImGuiButtonFlags_EnableNav)) chosen = each;
    const bool over = ImGui::IsItemHovered();
    if (ImGui::IsItemHovered(ImGuiHoveredFlags_DelayNormal)) {
      const std::size_t cut = model.cut_off();
      ImGui::SetTooltip("%s%s", about[i], cut == 0 ? "" : ("\nNow: " + format_some(cut, "bar") + " cut off.").c_str());
    }
    ImGui::PushStyleColor(ImGuiCol_Text, each == applied ? with.colours.text
                                         : over          ? with.colours.accent
                                                         : with.colours.muted);
    ImGui::RenderText({x, right.y}, name, nullptr, false);
    ImGui::PopStyleColor();
    if (each == applied)
      ImGui::GetWindowDrawList()->AddLineH(x, x + wide, right.y + sizes.text + sizes.px(1), with.colours.text);
    x -= sizes.px(10);
  }
  if (const std::size_t cut = model.cut_off(); applied == value_scale::clipped && cut > 0) {
    const std::string words = format_some(cut, "bar") + " cut off";
    const float left = x - sizes.measure(words) - sizes.px(6);
    ImGui::PushStyleColor(ImGuiCol_Text, with.colours.muted);
    if (left > ImGui::GetWindowPos().x) ImGui::RenderText({left, right.y}, words.c_str(), nullptr, false);
    ImGui::PopStyleColor();
  }
  ImGui::PopFont();
}

}  // namespace

chart_metrics get_chart_metrics(const view_context& with) {
  return {with.scale, with.px(small_text), [&with](std::string_view text) { return small_width(with, text); }};
}

drawn_chart view_charts::draw(const view_context& with, const char* id, chart_model& model, ImVec2 size) {
  const ImVec2 corner = ImGui::GetCursorScreenPos();
  const chart_metrics sizes = get_chart_metrics(with);
  size = {std::max(size.x, 1.0F), std::max(size.y, 1.0F)};
  value_scale& chosen = scales_.try_emplace(id, value_scale::clipped).first->second;
  value_scale applied = value_scale::linear;
  if (model.scales) applied = model.fit(chosen);
  // Where nothing would be cut off, all scales show every bar well enough.
  model.offers_scales = model.scales && (chosen != value_scale::clipped || applied == value_scale::clipped);
  drawn_chart drawn;
  drawn.at = lay_out(model, corner, size, sizes);
  const bool fits = !model.series.empty() && drawn.at.fits(sizes);
  if (fits && model.offers_scales) {
    ImGui::PushID(id);
    draw_scales(with, model, sizes, {drawn.at.area.max.x, drawn.at.area.min.y - drawn.at.header}, applied, chosen);
    ImGui::PopID();
    ImGui::SetCursorScreenPos(corner);
  }
  ImGui::InvisibleButton(id, size);
  drawn.hovered = ImGui::IsItemHovered();
  if (!model.right_click) panel_context_menu(with);
  if (!fits) return drawn;
  const ImVec2 mouse = ImGui::GetMousePos();
  if (drawn.hovered && drawn.at.area.contains(mouse)) drawn.pointer = drawn.at.point_at(mouse, sizes);
  chart_drawing drawing(with, drawn.at, sizes);
  drawing.draw_axes();
  drawing.draw_values();
  if (const chart_mark* over = drawing.draw_header(drawn.hovered)) {
    ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
    if (ImGui::IsMouseClicked(ImGuiMouseButton_Left)) over->click();
    drawn.pointer.reset();
  }
  if (!drawn.pointer) return drawn;
  if (model.crosshair) drawing.draw_crosshair(mouse.x);
  const chart_pointer& pointer = *drawn.pointer;
  if (model.clickable && model.clickable(pointer)) ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
  if (model.click && ImGui::IsMouseClicked(ImGuiMouseButton_Left)) model.click(pointer);
  if (model.right_click && ImGui::IsMouseReleased(ImGuiMouseButton_Right)) model.right_click(pointer);
  if (model.tip) draw_tip_of(with, model.tip(pointer));
  return drawn;
}

}  // namespace sluice::gui
