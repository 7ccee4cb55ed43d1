#include "app/gui/views/transfers/copy_chart.hpp"
#include "app/gui/views/parts/item_menu.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "app/gui/views/parts/panel_parts.hpp"
#include "app/gui/views/parts/widgets.hpp"
#include "core/trace/model/names.hpp"

namespace sluice::gui {
namespace {

using metrics::copy_cell;
using metrics::copy_table;
using metrics::transfer_statistics;

class copy_chart {
  /// A predicate that is true for the copies to draw.
  auto shown() const {
    return [this](const auto& each) { return !only_ || only_->takes(each); };
  }

 public:
  copy_chart(const copy_table& table, const std::optional<copy_way>& only) : table_(table), only_(only) {}

  void draw(const view_context& with, const metrics::range_statistics& statistics, ImVec2 size) const {
    const ImVec2 corner = ImGui::GetCursorScreenPos();
    ImGui::InvisibleButton("##chart", {std::max(size.x, 1.0F), std::max(size.y, 1.0F)});
    const bool hovered = ImGui::IsItemHovered();
    panel_context_menu(with);
    if (table_.cells.empty()) return;
    const auto is_shown = shown();
    double peak = 0, attainable = 0;
    for (const transfer_statistics& each : statistics.transfers) {
      if (!is_shown(each)) continue;
      peak = std::max(peak, each.link_peak);
      attainable = std::max(attainable, each.attainable);
    }
    log_chart at = place_chart(with, corner, size, peak);
    if (at.area.width() < with.px(60) || at.area.height() < with.px(40)) return;
    draw_axes(with, at);
    ImDrawList& list = *ImGui::GetWindowDrawList();
    list.PushClipRect(at.area.min, {at.area.max.x + 1, at.area.max.y + 1}, true);
    draw_limit(with, at, peak, "link's peak", with.colours.limit);
    draw_limit(with, at, attainable, "measured", with.colours.muted);
    draw_fastest(with, at);
    const selection& chosen = with.state.selected();
    for (const copy_cell& cell : table_.cells) {
      if (!is_shown(cell)) continue;
      const ImVec2 centre{at.to_x(static_cast<double>(cell.size)), at.to_y(cell.rate)};
      const float radius = compute_radius(with, cell);
      const ImU32 colour = choose_colour(with, cell);
      if (table_.cells.size() > many_cells) {
        list.AddRectFilled({centre.x - radius, centre.y - radius}, {centre.x + radius, centre.y + radius}, colour);
      } else {
        list.AddCircleFilled(centre, radius, colour, 10);
      }
      if (chosen.kind == selection_kind::event && chosen.id == trace::raw(cell.fastest))
        list.AddCircle(centre, radius + with.px(3), with.colours.accent, 0, with.px(2));
    }
    list.PopClipRect();
    draw_legend(with, at);
    draw_titles(with, at, corner.x);
    if (hovered) draw_hit(with, at);
  }

 private:
  /// The scales of a chart with logarithmic axes: octaves of bytes, and decades of bytes per second.
  struct log_chart {
    draw::rectangle area;
    double low_size = 0, high_size = 1;  ///< log2 of bytes
    double low_rate = 0, high_rate = 1;  ///< log10 of bytes per second

    [[nodiscard]] float to_x(double size) const {
      return area.min.x +
             static_cast<float>((std::log2(std::max(size, 1.0)) - low_size) / (high_size - low_size)) * area.width();
    }
    [[nodiscard]] float to_y(double rate) const {
      return area.max.y -
             static_cast<float>((std::log10(std::max(rate, 1.0)) - low_rate) / (high_rate - low_rate)) * area.height();
    }
  };

  ImU32 choose_colour(const view_context& with, const copy_cell& cell) const {
    if (!has_host_side(cell.direction)) return with.colours.directions[static_cast<std::size_t>(cell.direction)];
    return with.colours.memory[static_cast<std::size_t>(cell.host_side)];
  }
  static std::string_view get_kind(const copy_cell& cell) {
    return has_host_side(cell.direction) && cell.host_side != trace::memory_kind::unknown ? name_of_side(cell.host_side)
                                                                                          : get_name(cell.direction);
  }

  static constexpr std::size_t many_cells = 3000;
  static constexpr const char* rate_title = "rate";
  static constexpr const char* size_title = "copy size";

  static float compute_radius(const view_context& with, const copy_cell& cell) {
    return with.px(3) + with.px(0.4F) * std::min(std::log2(static_cast<float>(cell.count)), 10.0F);
  }

  log_chart place_chart(const view_context& with, ImVec2 corner, ImVec2 size, double peak) const {
    double min_size = 1e300, max_size = 1, min_rate = 1e300, max_rate = std::max(peak, 1.0);
    for (const copy_cell& cell : table_.cells) {
      min_size = std::min(min_size, static_cast<double>(cell.size));
      max_size = std::max(max_size, static_cast<double>(cell.size));
      min_rate = std::min(min_rate, cell.rate);
      max_rate = std::max(max_rate, cell.rate);
    }
    log_chart at;
    at.low_size = std::floor(std::log2(min_size) - 0.3);
    at.high_size = std::max(std::ceil(std::log2(max_size) + 0.3), at.low_size + 4);
    at.low_rate = std::floor(std::log10(std::max(min_rate, 1.0)) - 0.05);
    at.high_rate = std::log10(max_rate) + 0.15;
    if (at.high_rate < at.low_rate + 1) at.high_rate = at.low_rate + 1;
    const float labels = small_width(with, "100 MB/s");
    const float text = with.px(small_text);
    at.area = {{std::floor(corner.x + labels + with.px(8)), std::floor(corner.y + text + with.px(12))},
               {std::floor(corner.x + size.x - with.px(10)), std::floor(corner.y + size.y - text - with.px(8))}};
    return at;
  }

  static void draw_axes(const view_context& with, const log_chart& at) {
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const float text = with.px(small_text);
    const double decades = at.high_rate - at.low_rate;
    const bool fine = decades < 2.2;
    float last = at.area.max.y + text * 2;
    for (int decade = static_cast<int>(at.low_rate); decade <= static_cast<int>(at.high_rate); ++decade)
      for (const int part : {1, 2, 5}) {
        const double rate = std::pow(10.0, decade) * part;
        const float y = std::floor(at.to_y(rate));
        if ((part != 1 && !fine) || y < at.area.min.y || y > at.area.max.y + 1) continue;
        list.AddLineH(at.area.min.x, at.area.max.x, y, part == 1 ? with.colours.line : with.colours.grid);
        if (last - y < text * 1.2F) continue;
        const std::string label = rate_label(rate);
        list.AddText(with.fonts.regular, text,
                     {at.area.min.x - with.px(6) - small_width(with, label), y - text * 0.5F - 1}, with.colours.muted,
                     label.c_str());
        last = y;
      }
    const float octave = at.area.width() / static_cast<float>(at.high_size - at.low_size);
    const int step = octave > with.px(60) ? 1 : octave * 2 > with.px(60) ? 2 : octave * 5 > with.px(60) ? 5 : 10;
    for (int power = static_cast<int>(at.low_size); power <= static_cast<int>(at.high_size); ++power) {
      if (power % step != 0) continue;
      const float x = std::floor(at.to_x(std::exp2(power)));
      list.AddLineV(x, at.area.min.y, at.area.max.y, with.colours.grid);
      const std::string label = size_label(power);
      const float wide = small_width(with, label);
      if (x + wide * 0.5F > at.area.max.x + with.px(8)) continue;
      list.AddText(with.fonts.regular, text, {x - wide * 0.5F, at.area.max.y + with.px(4)}, with.colours.muted,
                   label.c_str());
    }
  }

  /// Formats a power of two without decimals: "64 KiB".
  static std::string size_label(int power) {
    static constexpr std::array units = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    const auto unit = static_cast<std::size_t>(std::clamp(power / 10, 0, 6));
    return std::to_string(1ULL << static_cast<unsigned>(std::max(power, 0) - static_cast<int>(unit) * 10)) + " " +
           units[unit];
  }
  /// Formats a round rate without decimals: "20 GB/s".
  static std::string rate_label(double rate) {
    static constexpr std::array units = {"B/s", "kB/s", "MB/s", "GB/s"};
    std::size_t unit = 0;
    for (; unit + 1 < units.size() && rate >= 999.5; ++unit) rate /= 1000;
    return std::to_string(std::lround(rate)) + " " + units[unit];
  }

  static void draw_limit(const view_context& with, const log_chart& at, double rate, const char* name, ImU32 colour) {
    if (rate <= 0) return;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const float y = std::floor(at.to_y(rate));
    list.AddLineH(at.area.min.x, at.area.max.x, y, colour, with.px(1.5F));
    const std::string label = std::string(name) + " " + format_rate(rate);
    const float text = with.px(small_text);
    const bool above = y - text - with.px(3) > at.area.min.y;
    list.AddText(with.fonts.regular, text, {at.area.min.x + with.px(6), above ? y - text - with.px(2) : y + with.px(2)},
                 colour, label.c_str());
  }

  /// Draws a line through the fastest copies of each octave of sizes, that is, the attainable rate for copies of that
  /// size. There is one line per device and direction.
  void draw_fastest(const view_context& with, const log_chart& at) const {
    static thread_local std::vector<const copy_cell*> best;
    static thread_local std::vector<ImVec2> points;
    const auto is_shown = shown();
    const auto& cells = table_.cells;
    for (std::size_t i = 0; i < cells.size();) {
      const copy_way way{cells[i].device, cells[i].direction};
      best.assign(static_cast<std::size_t>(std::max(at.high_size - at.low_size, 1.0)) + 1, nullptr);
      const bool drawn = is_shown(cells[i]);
      for (; i < cells.size() && way.takes(cells[i]); ++i) {
        const double place = std::log2(static_cast<double>(cells[i].size)) - at.low_size;
        const copy_cell*& cell = best[std::min(best.size() - 1, static_cast<std::size_t>(std::max(place, 0.0)))];
        if (cell == nullptr || cells[i].rate > cell->rate) cell = &cells[i];
      }
      if (!drawn) continue;
      points.clear();
      for (const copy_cell* each : best)
        if (each != nullptr) points.emplace_back(at.to_x(static_cast<double>(each->size)), at.to_y(each->rate));
      if (points.size() > 1)
        ImGui::GetWindowDrawList()->AddPolyline(points.data(), static_cast<int>(points.size()), with.colours.muted,
                                                with.px(1), ImDrawFlags_None);
    }
  }

  /// Draws a legend of the colours in use above the chart.
  void draw_legend(const view_context& with, const log_chart& at) const {
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const float text = with.px(small_text);
    const float side = with.px(8);
    float x = at.area.min.x;
    const float y = at.area.min.y - text - with.px(6);
    std::array<std::string_view, 12> known{};
    std::size_t count = 0;
    const auto is_shown = shown();
    const auto put = [&](std::string_view label, ImU32 colour, bool line) {
      const float wide = small_width(with, label);
      if (x + side + wide > at.area.max.x) return;
      const float middle = std::floor(y + text * 0.5F);
      if (line) {
        list.AddLineH(x, x + side, middle, colour, with.px(1.5F));
      } else {
        list.AddCircleFilled({x + side * 0.5F, middle}, side * 0.5F, colour);
      }
      list.AddText(with.fonts.regular, text, {x + side + with.px(5), y}, with.colours.text, label.data(),
                   label.data() + label.size());
      x += side + wide + with.px(18);
    };
    for (const copy_cell& cell : table_.cells) {
      const std::string_view label = get_kind(cell);
      if (!is_shown(cell) || count == known.size() || std::find(known.begin(), known.end(), label) != known.end())
        continue;
      known[count++] = label;
      put(label, choose_colour(with, cell), false);
    }
    put("fastest of each size", with.colours.muted, true);
  }

  /// Draws the titles of the axes.
  static void draw_titles(const view_context& with, const log_chart& at, float left) {
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const float text = with.px(small_text);
    const float right = at.area.min.x - with.px(6);
    list.AddText(with.fonts.regular, text,
                 {std::max(left, right - small_width(with, rate_title)), at.area.min.y - text - with.px(6)},
                 with.colours.muted, rate_title);
    list.AddText(with.fonts.regular, text,
                 {at.area.max.x - small_width(with, size_title) - with.px(4), at.area.max.y - text - with.px(4)},
                 with.colours.muted, size_title);
  }

  void draw_hit(const view_context& with, const log_chart& at) const {
    const ImVec2 mouse = ImGui::GetMousePos();
    const auto is_shown = shown();
    const copy_cell* hit = nullptr;
    float nearest = with.px(8) * with.px(8);
    for (const copy_cell& cell : table_.cells) {
      if (!is_shown(cell)) continue;
      const float x = at.to_x(static_cast<double>(cell.size)) - mouse.x;
      const float y = at.to_y(cell.rate) - mouse.y;
      if (x * x + y * y >= nearest) continue;
      nearest = x * x + y * y;
      hit = &cell;
    }
    if (hit == nullptr) return;
    ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
    if (ImGui::IsMouseClicked(ImGuiMouseButton_Left)) show_event(with, hit->fastest);
    if (!begin_tip(with)) return;
    const float wide = with.px(80);
    ImGui::TextUnformatted((std::string(get_name(hit->direction)) + ", " + std::string(get_kind(*hit))).c_str());
    tip_field(with, "copies", format_count(hit->count), wide);
    if (hit->count > 1) tip_field(with, "total", format_bytes(hit->bytes), wide);
    tip_field(with, hit->count > 1 ? "fastest" : "size", format_bytes(hit->size) + " at " + format_rate(hit->rate),
              wide);
    tip_field(with, "at", format_moment(hit->begin) + ", took " + format_time(hit->end - hit->begin), wide);
    end_tip();
  }

  const copy_table& table_;
  const std::optional<copy_way>& only_;
};

}  // namespace

void draw_copies(const view_context& with, const metrics::copy_table* table, const metrics::range_statistics& metrics,
                 const std::optional<copy_way>& only, ImVec2 size) {
  static const copy_table nothing;
  copy_chart(table == nullptr ? nothing : *table, only).draw(with, metrics, size);
}

}  // namespace sluice::gui
