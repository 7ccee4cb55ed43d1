#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "app/gui/format.hpp"
#include "app/gui/views/track_row.hpp"
#include "app/gui/views/widgets.hpp"

namespace sluice::gui {
namespace {

constexpr float small_text = 12.0F;
constexpr float axis_width = 62;  // design pixels right in the header for the axis' labels

format::value_unit unit_of(const view_context& with, const query::track& what) {
  switch (what.kind) {
    case query::track_kind::memory:
    case query::track_kind::pool:
      return format::value_unit::bytes;
    case query::track_kind::bandwidth:
      return format::value_unit::rate;
    default:
      break;
  }
  const document* shown = with.state.active();
  const trace::counter_row* row =
      shown != nullptr && shown->engine ? shown->engine->snapshot()->tables().counters.find(what.counter) : nullptr;
  if (row == nullptr) return format::value_unit::none;
  switch (row->unit) {
    case trace::counter_unit::bytes:
      return format::value_unit::bytes;
    case trace::counter_unit::bytes_per_second:
      return format::value_unit::rate;
    case trace::counter_unit::nanoseconds:
      return format::value_unit::nanoseconds;
    case trace::counter_unit::fraction:
      return format::value_unit::fraction;
    case trace::counter_unit::none:
      break;
  }
  return format::value_unit::none;
}

/// Memory shows what it reached inside a pixel; a rate shows its mean, so that areas are bytes.
double height_of(const query::bin& bin, query::track_kind kind) {
  return kind == query::track_kind::bandwidth ? bin.mean : bin.maximum;
}

/// Bands that stand on one another. The levels lie inside one another: a pool's bytes are the driver's too, so the level
/// that reaches lower is drawn in front of the one that reaches higher, never added to it.
struct level {
  std::vector<std::size_t> bands;
};

std::vector<level> levels_of(const query::series& curves, query::track_kind kind) {
  std::array<level, trace::layer_count> by_layer;
  std::vector<level> alone;
  for (std::size_t i = 0; i < curves.bands.size(); ++i) {
    const query::band& band = curves.bands[i];
    switch (band.role) {
      case query::band_role::used:
        by_layer[static_cast<std::size_t>(band.level)].bands.push_back(i);
        break;
      case query::band_role::untracked:
      case query::band_role::
          recorder:  // on top of what the driver gave out: together they are what the device has in use
        (kind == query::track_kind::memory ? by_layer[0] : alone.emplace_back()).bands.push_back(i);
        break;
      case query::band_role::total:
        break;
      case query::band_role::reserved:
      case query::band_role::value:
        alone.push_back({{i}});
        break;
    }
  }
  // Used first, then the recorder's own share, then what nobody explains.
  std::stable_sort(by_layer[0].bands.begin(), by_layer[0].bands.end(), [&](std::size_t a, std::size_t b) {
    const auto rank = [&](std::size_t i) {
      return curves.bands[i].role == query::band_role::used       ? 0
             : curves.bands[i].role == query::band_role::recorder ? 1
                                                                  : 2;
    };
    return rank(a) < rank(b);
  });
  std::vector<level> levels;
  for (level& each : by_layer)
    if (!each.bands.empty()) levels.push_back(std::move(each));
  for (level& each : alone) levels.push_back(std::move(each));
  return levels;
}

/// What a legend has room for; the tip has the whole label.
std::string_view brief(const query::band& band) {
  if (band.role == query::band_role::untracked) return "Not tracked";
  if (band.role == query::band_role::recorder) return "Sluice itself";
  return band.label;
}

/// Directions do not add up and hide one another in one chart: each has a lane of its own, with the same axis.
std::size_t lanes_of(const query::series& curves, query::track_kind kind) {
  return kind == query::track_kind::bandwidth ? std::max<std::size_t>(curves.bands.size(), 1) : 1;
}

class series_row final : public track_row {
 public:
  [[nodiscard]] float height(const view_context& with, const query::track& what) const override {
    switch (what.kind) {
      case query::track_kind::memory:
        return with.px(104);
      case query::track_kind::pool:
        return with.px(72);
      case query::track_kind::bandwidth:
        return shown_ && shown_->bands.size() > 1 ? with.px(52) * static_cast<float>(shown_->bands.size())
                                                  : with.px(72);
      default:
        return with.px(46);
    }
  }

  row_hit draw(view_context& with, query::engine& from, const query::track& what, const row_frame& where,
               ImDrawList& list) override {
    const auto answer =
        question_.ask(from, {what.id, where.visible, static_cast<std::uint32_t>(std::max(1.0F, where.area.width()))});
    const float below = draw_row_label(with, list, where.header, what, with.px(axis_width));
    if (!answer) return {};
    if (answer.value != shown_ || theme_ != with.colours.kind) {
      shown_ = answer.value;
      theme_ = with.colours.kind;
      unit_ = unit_of(with, what);
      axis_ = axis_for(what);
      upload(with, what);
    }
    const draw::rectangle chart{{where.area.min.x, where.area.min.y + with.px(5)},
                                {where.area.max.x, where.area.max.y - 1}};
    const std::size_t lanes = lanes_of(*shown_, what.kind);
    for (std::size_t i = 0; i < lanes; ++i) draw_axis(with, where, lane_of(chart, i, lanes), list);
    with.boxes.add(list, batch_, chart, where.visible, static_cast<float>(axis_.top) * static_cast<float>(lanes),
                   with.colours.background);
    for (std::size_t i = 0; i < lanes; ++i) draw_limits(with, lane_of(chart, i, lanes), i == 0, list);
    draw_legend(with, where.header, below, list);
    if (where.hovered && chart.contains(where.mouse)) tip(with, what, where);
    return {};
  }

 private:
  static draw::rectangle lane_of(const draw::rectangle& chart, std::size_t lane, std::size_t lanes) {
    const auto edge = [&](std::size_t i) {
      return std::floor(chart.min.y + chart.height() * static_cast<float>(i) / static_cast<float>(lanes));
    };
    return {{chart.min.x, edge(lane)}, {chart.max.x, edge(lane + 1)}};
  }

  [[nodiscard]] format::value_axis axis_for(const query::track& what) const {
    double top = shown_->maximum;
    for (const query::limit_line& limit : shown_->limits)
      // A link's peak is what its bandwidth is read against. A device's memory only once a fair part of it is used.
      if (limit.value > top && (what.kind == query::track_kind::bandwidth || limit.value < top * 4))
        top = limit.value * 1.12;
    if (unit_ == format::value_unit::fraction) top = std::max(top, 1.0);
    return format::value_ticks(top, unit_, what.kind == query::track_kind::memory ? 3 : 2);
  }

  void upload(const view_context& with, const query::track& what) {
    static thread_local std::vector<draw::box> boxes;
    boxes.clear();
    const query::series& curves = *shown_;
    std::size_t width = 0;
    for (const query::band& band : curves.bands) width = std::max(width, band.bins.size());
    const std::size_t lanes = lanes_of(curves, what.kind);
    const std::vector<level> levels = levels_of(curves, what.kind);
    const double ns_per_bin = width == 0 ? 0 : static_cast<double>(curves.range.length()) / static_cast<double>(width);
    std::vector<std::pair<double, const level*>> order;
    const auto value = [&](std::size_t band, std::size_t at) {
      const auto& bins = curves.bands[band].bins;
      return at < bins.size() ? std::max(0.0, height_of(bins[at], what.kind)) : 0.0;
    };
    for (std::size_t at = 0; at < width; ++at) {
      const auto left = static_cast<float>(static_cast<double>(at) * ns_per_bin);
      const auto right = static_cast<float>(static_cast<double>(at + 1) * ns_per_bin);
      if (lanes > 1) {
        for (std::size_t band = 0; band < lanes; ++band) {
          const double floor = axis_.top * static_cast<double>(lanes - 1 - band);
          const double high = value(band, at);
          if (high > 0)
            boxes.push_back({left, right, static_cast<float>(floor), static_cast<float>(floor + high),
                             with.colours.of(curves.bands[band]), 0});
        }
        continue;
      }
      order.clear();
      for (const level& each : levels) {
        double total = 0;
        for (const std::size_t band : each.bands) total += value(band, at);
        order.emplace_back(total, &each);
      }
      std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
      double drawn = 0;  // up to here something is painted: nothing is painted twice
      for (const auto& [total, each] : order) {
        double low = 0;
        for (const std::size_t band : each->bands) {
          const double high = low + value(band, at);
          if (high > drawn) {
            const query::band& what_is_it = curves.bands[band];
            const bool hatch = what_is_it.role == query::band_role::untracked;
            boxes.push_back({left, right, static_cast<float>(std::max(low, drawn)), static_cast<float>(high),
                             with.colours.of(what_is_it), hatch ? draw::hatched : 0U});
            drawn = high;
          }
          low = high;
        }
      }
    }
    merge_equal(boxes);
    batch_.assign(curves.range.begin, boxes);
  }

  /// Neighbouring columns that are equal become one box: a quiet recording costs next to nothing.
  static void merge_equal(std::vector<draw::box>& boxes) {
    std::size_t kept = 0;
    std::array<std::size_t, 64> last{};  // by position in the column
    std::size_t position = 0;
    std::size_t known = 0;
    float column = -1;
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      const draw::box now = boxes[i];
      if (i == 0 || now.begin != column) position = 0;
      column = now.begin;
      bool grown = false;
      if (position < known && position < last.size()) {
        draw::box& before = boxes[last[position]];
        if (before.end == now.begin && before.low == now.low && before.high == now.high &&
            before.colour == now.colour && before.style == now.style) {
          before.end = now.end;
          grown = true;
        }
      }
      if (!grown) {
        boxes[kept] = now;
        if (position < last.size()) {
          last[position] = kept;
          known = std::max(known, position + 1);
        }
        ++kept;
      }
      ++position;
    }
    boxes.resize(kept);
  }

  [[nodiscard]] float y_of(const draw::rectangle& chart, double value) const {
    return std::floor(chart.max.y - static_cast<float>(value / axis_.top) * chart.height() + 0.5F);
  }

  void draw_axis(const view_context& with, const row_frame& where, const draw::rectangle& chart,
                 ImDrawList& list) const {
    ImGui::PushFont(nullptr, small_text);
    const float line = ImGui::GetTextLineHeight();
    float lowest = chart.max.y + std::floor(line * 0.5F);  // labels go up: none may touch the one below
    for (const format::tick& tick : axis_.ticks) {
      const float y = y_of(chart, tick.value);
      list.AddLineH(chart.min.x, chart.max.x, y, with.colours.grid);
      const float top = y - std::floor(line * 0.5F);
      if (top + line > lowest || top < where.header.min.y) continue;
      const ImVec2 size = ImGui::CalcTextSize(tick.label.c_str());
      list.AddText({where.header.max.x - size.x - with.px(6), top}, with.colours.muted, tick.label.c_str());
      lowest = top - 1;
    }
    ImGui::PopFont();
  }

  void draw_limits(const view_context& with, const draw::rectangle& chart, bool named, ImDrawList& list) const {
    ImGui::PushFont(nullptr, small_text);
    const float line = ImGui::GetTextLineHeight();
    float right = chart.max.x - with.px(6);
    for (const query::limit_line& limit : shown_->limits) {
      const bool outside = limit.value > axis_.top;
      const float y = outside ? chart.min.y : y_of(chart, limit.value);
      const std::string label = outside ? "\xE2\x86\x91 " + limit.label : limit.label;
      const ImVec2 size = ImGui::CalcTextSize(label.c_str());
      if (!outside) list.AddLineH(chart.min.x, chart.max.x, y, with.colours.limit);
      if (!named) continue;
      float top = y - line - 1;
      if (top < chart.min.y - with.px(4)) top = y + 1;
      if (right - size.x < chart.min.x) continue;
      // The text is read over filled areas too: a plate of the background carries it.
      list.AddRectFilled({std::floor(right - size.x - 3), top}, {std::floor(right + 3), top + line},
                         with.colours.background);
      list.AddText({std::floor(right - size.x), top}, outside ? with.colours.muted : with.colours.limit, label.c_str());
      right -= size.x + with.px(16);
    }
    ImGui::PopFont();
  }

  void draw_legend(const view_context& with, const draw::rectangle& header, float below, ImDrawList& list) const {
    if (shown_->bands.size() < 2) return;
    ImGui::PushFont(nullptr, small_text);
    const float line = ImGui::GetTextLineHeight();
    const float side = with.px(8);
    float y = below + 1;
    const float left = header.min.x + with.px(12);
    const float right = header.max.x - with.px(axis_width);
    for (const query::band& band : shown_->bands) {
      if (band.role == query::band_role::total || y + line > header.max.y) continue;
      const float top = std::floor(y + (line - side) * 0.5F);
      const ImU32 colour = with.colours.of(band);
      const bool hatch = band.role == query::band_role::untracked;
      list.AddRectFilled({left, top}, {left + side, top + side},
                         hatch ? mix(with.colours.background, colour, 0.35F) : colour);
      if (hatch) list.AddRect({left, top}, {left + side, top + side}, colour);
      const float text_left = left + side + with.px(5);
      list.PushClipRect({text_left, y}, {right, y + line}, true);
      const std::string_view label = brief(band);
      list.AddText({text_left, y}, with.colours.muted, label.data(), label.data() + label.size());
      list.PopClipRect();
      y += line;
    }
    ImGui::PopFont();
  }

  void tip(const view_context& with, const query::track& what, const row_frame& where) const {
    const query::time_ns time = where.time_at(where.mouse.x);
    if (!begin_tip(with)) return;
    ImGui::PushFont(with.fonts.bold, 0);
    ImGui::TextUnformatted(what.label.c_str());
    ImGui::PopFont();
    const float column = with.px(150);
    tip_field(with, "at", format::time_point(time, static_cast<query::time_ns>(where.ns_per_pixel())), column);
    const double place = static_cast<double>(time - shown_->range.begin) /
                         static_cast<double>(std::max<query::time_ns>(shown_->range.length(), 1));
    for (const query::band& band : shown_->bands) {
      if (band.bins.empty() || place < 0 || place >= 1) continue;
      const query::bin& bin = band.bins[std::min(
          static_cast<std::size_t>(place * static_cast<double>(band.bins.size())), band.bins.size() - 1)];
      swatch(with, with.colours.of(band), band.role == query::band_role::untracked);
      std::string text = format::value(height_of(bin, what.kind), unit_);
      if (what.kind != query::track_kind::bandwidth && bin.minimum < bin.maximum)
        text = format::value(bin.minimum, unit_) + " to " + text;
      tip_field(with, band.label, text, column - with.px(15));
    }
    for (const query::limit_line& limit : shown_->limits) ImGui::TextDisabled("%s", limit.label.c_str());
    end_tip();
  }

  query::slot<query::series_question> question_;
  std::shared_ptr<const query::series> shown_;
  draw::box_batch batch_;
  theme_kind theme_ = theme_kind::dark;
  format::value_unit unit_ = format::value_unit::none;
  format::value_axis axis_;
};

}  // namespace

std::unique_ptr<track_row> make_series_row() { return std::make_unique<series_row>(); }

std::unique_ptr<track_row> make_track_row(const query::track& what) {
  switch (what.kind) {
    case query::track_kind::memory:
    case query::track_kind::pool:
    case query::track_kind::bandwidth:
    case query::track_kind::counter:
      return make_series_row();
    default:
      return make_slice_row();
  }
}

float draw_row_label(const view_context& with, ImDrawList& list, const draw::rectangle& header,
                     const query::track& what, float right_margin) {
  const float left = header.min.x + with.px(12);
  const float right = header.max.x - right_margin;
  float y = header.min.y + with.px(5);
  list.PushClipRect({left, header.min.y}, {right, header.max.y}, true);
  ImGui::PushFont(nullptr, 13.5F);
  const float line = ImGui::GetTextLineHeight();
  list.AddText({left, y}, with.colours.text, what.label.c_str());
  ImGui::PopFont();
  y += line + 1;
  if (!what.detail.empty() && y + line <= header.max.y) {
    ImGui::PushFont(nullptr, small_text);
    list.AddText({left, y}, with.colours.muted, what.detail.c_str());
    y += ImGui::GetTextLineHeight() + 1;
    ImGui::PopFont();
  }
  list.PopClipRect();
  return y;
}

}  // namespace sluice::gui
