#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "app/gui/views/lanes/series_lanes.hpp"
#include "app/gui/views/parts/widgets.hpp"
#include "app/gui/views/timeline/block_areas.hpp"
#include "app/gui/views/timeline/memory_marks.hpp"
#include "app/gui/views/timeline/track_row.hpp"
#include "app/gui/window/format.hpp"
#include "imgui_internal.h"

namespace sluice::gui {
namespace {

constexpr float axis_width = 62;    // design pixels at the right end of the header, for the labels of the axis
constexpr float min_labelled = 14;  // design pixels; lower bands contain no name

format::value_unit get_unit(const view_context& with, const query::track& track) {
  switch (track.kind) {
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
      shown != nullptr && shown->engine ? shown->engine->snapshot()->tables().counters.find(track.counter) : nullptr;
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

class series_row final : public track_row {
 public:
  [[nodiscard]] float height(const view_context& with, const query::track& track,
                             const memory_scale& scale) const override {
    if (is_folded(track, scale)) return with.px(folded_height);
    // Use the scale of this frame, and where possible the same height before and after the first result arrives, so
    // that rows move as little and as early as possible.
    if (follows(track, scale)) return with.px(padding) + with.px(scaled_height(track, scale));
    if (lanes_.empty())
      return with.px(padding) + with.px(scale.main_height > 0 ? scale.main_height : usual_height(track.kind));
    float height = with.px(padding);
    for (const series_lane& lane : lanes_) height += with.px(lane.height);
    return height;
  }

  [[nodiscard]] double bytes_per_pixel() const override {
    return shown_ == nullptr || lanes_.empty() ? 0
                                               : lanes_.front().axis.top / static_cast<double>(lanes_.front().height);
  }

  row_hit draw(view_context& with, query::engine& engine, const query::track& track, const row_frame& where,
               ImDrawList& list) override {
    const auto result =
        query_.ask(engine, {track.id, where.visible, static_cast<std::uint32_t>(std::max(1.0F, where.area.width())),
                            with.state.memory_by_category});
    const bool folded = is_folded(track, where.scale);
    const float below = draw_row_label(with, list, where, track, folded ? with.px(8) : with.px(axis_width));
    if (folded) return draw_folded(with, track, where, list);
    if (!result) return {};
    const bool of_blocks = asks_blocks(with, engine, track, *result.value, where);
    if (of_blocks != of_blocks_ || result.value != shown_ || result.complete != complete_ ||
        theme_ != with.colours.kind || scale_ != where.scale || pixels_ != with.scale || content_ != where.content ||
        failed_ != where.failed) {
      of_blocks_ = of_blocks;
      shown_ = result.value;
      complete_ = result.complete;
      theme_ = with.colours.kind;
      scale_ = where.scale;
      pixels_ = with.scale;
      content_ = where.content;
      failed_ = where.failed;
      unit_ = get_unit(with, track);
      lay_out(with, track, where.area.width());
    }
    row_hit hit;
    draw::rectangle chart = where.area;
    chart.max.y = chart.min.y + with.px(padding);
    for (const series_lane& lane : lanes_) {
      chart.min.y = chart.max.y;
      chart.max.y += with.px(lane.height);
      const draw::rectangle inner{chart.min, {chart.max.x, chart.max.y - 1}};
      if (inner.max.y > where.area.max.y + 1) break;  // there are more lanes than fit into the row until the next frame
      draw_axis(with, where, inner, lane, list);
      with.boxes.add(list, lane.batch, inner, where.visible, static_cast<float>(lane.axis.top),
                     with.colours.background);
      if (lane.of_blocks) blocks_.draw(with, where, inner, lane.axis.top, list);
      draw_labels(with, where, inner, lane, list);
      if (&lane == &lanes_.front() && failed_.asked > 0)
        draw_failure(with, failed_, get_use_at(lane, failed_.time), where, inner, lane.axis.top, list);
      else if (lane.limits)
        draw_limits(with, inner, lane, list);
      if (&lane == &lanes_.front() && track.kind == query::track_kind::memory && failed_.asked == 0)
        highest_.draw(with, engine, track, where, inner, lane, *shown_, list);
      draw_legend(with, where, &lane == &lanes_.front() ? below : inner.min.y + 2, inner.max.y, lane, list);
      if (where.hovered && track.kind == query::track_kind::memory && inner.contains(where.mouse))
        if (const query::band* band = band_at(lane, inner, where)) hit.blocks = select_blocks(*band, track, where);
      if (where.hovered && lane.of_blocks) hit_block(with, track, where, inner, lane, hit);
    }
    if (where.hovered && hit.block == trace::block_id::none) tip(with, track, where, hit);
    return hit;
  }

 private:
  static constexpr float padding = 6;
  static constexpr float folded_height = 24;
  static constexpr double min_share = 0.01;  ///< Share of the device's largest lane. Smaller lanes are replaced by one
                                             ///< line of text.

  /// Finds the block under the mouse, and shows its tooltip.
  void hit_block(const view_context& with, const query::track& track, const row_frame& where,
                 const draw::rectangle& inner, const series_lane& lane, row_hit& hit) const {
    const query::block_row* block = blocks_.find(where, inner, lane.axis.top);
    if (block == nullptr) return;
    hit.block = block->block;
    for (const std::size_t each : lane.levels.front().bands)
      if (shown_->bands[each].category == block->category.kind)
        hit.blocks = select_blocks(shown_->bands[each], track, where);
    blocks_.tip(with, *block);
  }

  /// True if the blocks of a device's memory can be drawn in this frame.
  bool asks_blocks(const view_context& with, query::engine& engine, const query::track& track,
                   const query::series& curves, const row_frame& where) {
    if (track.kind != query::track_kind::memory || track.device == trace::device_id::none) return false;
    const std::vector<series_lane> lanes = list_lanes(curves, track.kind);
    if (lanes.empty() || lanes.front().levels.empty() || lanes.front().levels.front().mark != band_mark::area)
      return false;
    return blocks_.follow(with, engine, track, curves.bands[lanes.front().levels.front().bands.front()], where);
  }

  static bool is_folded(const query::track& track, const memory_scale& scale) {
    return scale.largest > 0 && track.maximum < scale.largest * min_share;
  }

  /// True for a row that uses the scale of its device's memory track.
  static bool follows(const query::track& track, const memory_scale& scale) {
    return scale.bytes_per_pixel > 0 && track.kind != query::track_kind::memory;
  }

  /// The height of a row, in design pixels, in proportion to its bytes on the device's scale, but at least enough for
  /// its name.
  static float scaled_height(const query::track& track, const memory_scale& scale) {
    const double wanted = std::ceil(track.maximum * 1.08 / scale.bytes_per_pixel);
    return std::clamp(static_cast<float>(wanted), track.kind == query::track_kind::pool ? 46.0F : 34.0F, 160.0F);
  }

  /// Draws one line of text in place of a curve that would be too low to be visible.
  static row_hit draw_folded(const view_context& with, const query::track& track, const row_frame& where,
                             ImDrawList& list) {
    ImGui::PushFont(nullptr, small_text);
    const std::string text = "at most " + format_bytes(track.maximum) + ", less than 1 % of this device's largest";
    draw_text_until(list,
                    {where.area.min.x + with.px(6),
                     std::floor((where.area.min.y + where.area.max.y - ImGui::GetTextLineHeight()) * 0.5F)},
                    where.area.max.x, with.colours.muted, text);
    ImGui::PopFont();
    return {};
  }

  void lay_out(const view_context& with, const query::track& track, float width) {
    std::vector<series_lane> fresh = list_lanes(*shown_, track.kind);
    std::erase_if(fresh, [this](const series_lane& lane) { return is_empty(lane); });
    if (fresh.size() == 1) fresh.front().limits = true;  // No lane of samples shows them.
    for (std::size_t i = 0; i < fresh.size() && i < lanes_.size(); ++i) fresh[i].batch = std::move(lanes_[i].batch);
    lanes_ = std::move(fresh);
    std::vector<std::size_t> label_width(shown_->bands.size(), 0);
    names_.assign(shown_->bands.size(), {});
    if (track.kind == query::track_kind::memory || track.kind == query::track_kind::pool) {
      ImGui::PushFont(nullptr, small_text);
      for (const series_lane& lane : lanes_)
        for (const band_stack& each : lane.levels)
          for (const std::size_t band : each.bands) {
            names_[band] = name_area(shown_->bands[band], each.mark);
            const float text = text_width(names_[band]) + with.px(10);
            const auto bins = static_cast<float>(shown_->bands[band].bins.size());
            label_width[band] = static_cast<std::size_t>(std::ceil(text * bins / std::max(1.0F, width)));
          }
      ImGui::PopFont();
    }
    for (series_lane& lane : lanes_) {
      if (follows(track, scale_)) lane.height = scaled_height(track, scale_);
      const bool tracked = !lane.levels.empty() && lane.levels.front().mark != band_mark::dots;
      if (track.kind == query::track_kind::memory && tracked && scale_.main_height > 0)
        lane.height = scale_.main_height;
      lane.of_blocks = of_blocks_ && &lane == &lanes_.front();
      lane.axis = axis_for(with, track, lane);
      lane.pixels = with.px(lane.height) - 1;
      fill(lane, *shown_, track.kind, with.colours, label_width);
    }
  }

  /// The name that an area of memory contains, with its highest value: "Activation 146 MiB".
  static std::string name_area(const query::band& band, band_mark mark) {
    double most = 0;
    for (std::size_t i = 0; i < band.bins.size(); ++i)
      most = std::max(most, compute_height(band, i, query::track_kind::memory));
    return std::string(brief(band, mark)) + "  " + format_bytes(most);
  }

  /// The bytes that the areas of a lane show at `time`, or just before it.
  [[nodiscard]] double get_use_at(const series_lane& lane, time_ns time) const {
    double total = 0;
    if (lane.levels.empty()) return total;
    for (const std::size_t band : lane.levels.front().bands)
      if (const auto bin = bin_at(shown_->bands[band], time))
        total += std::max(0.0, compute_height(shown_->bands[band], *bin, query::track_kind::memory));
    return total;
  }

  /// True for a lane without copies, and for a lane of samples before the first sample.
  [[nodiscard]] bool is_empty(const series_lane& lane) const {
    if (content_.no_copies.contains(lane.direction)) return true;
    const auto is_unknown = [this](std::size_t each) {
      const auto& bins = shown_->bands[each].bins;
      return is_sampled(shown_->bands[each]) &&
             std::none_of(bins.begin(), bins.end(), [](const query::bin& bin) { return bin.maximum > 0; });
    };
    if (lane.levels.empty()) return false;
    return std::all_of(lane.levels.begin(), lane.levels.end(), [&](const band_stack& level) {
      return level.mark == band_mark::dots && std::all_of(level.bands.begin(), level.bands.end(), is_unknown);
    });
  }

  static float text_width(std::string_view text) {
    return ImGui::CalcTextSize(text.data(), text.data() + text.size()).x;
  }

  [[nodiscard]] format::value_axis axis_for(const view_context& with, const query::track& track,
                                            const series_lane& lane) {
    const double height = static_cast<double>(with.px(lane.height));
    // Leave space above the highest limit line for the line's name.
    const double room = height / std::max(height - static_cast<double>(with.px(20)), height * 0.5);
    double highest = shown_->maximum;
    if (track.kind == query::track_kind::memory && &lane == &lanes_.front()) {
      // Use the maximum of the series, because it includes untracked memory.
      highest = track.maximum > 0 ? track.maximum : find_highest(lane, *shown_, track.kind);
    } else if (follows(track, scale_)) {
      return format::value_ticks(scale_.bytes_per_pixel * static_cast<double>(lane.height), unit_, 2);
    }
    double top = highest * 1.08;
    if (track.kind == query::track_kind::memory && &lane == &lanes_.front() && failed_.asked > 0) {
      const double asked = get_base(failed_, get_use_at(lane, failed_.time)) + static_cast<double>(failed_.asked);
      top = std::max({top, static_cast<double>(failed_.limit) * room, asked * 1.05});
    }
    for (const query::limit_line& limit : shown_->limits)
      // Always show the link's peak, to compare the bandwidth with it. Show the memory size only if a considerable part
      // of the memory is used.
      if (lane.limits && (track.kind == query::track_kind::bandwidth || limit.value < highest * 4))
        top = std::max(top, limit.value * room);
    if (unit_ == format::value_unit::fraction) top = std::max(top, 1.0);
    const bool tall = track.kind == query::track_kind::memory && &lane == &lanes_.front();
    format::value_axis axis =
        format::value_ticks(top, unit_, tall || track.kind == query::track_kind::bandwidth ? 3 : 2);
    // The space above a link's peak contains the peak's name. An axis label there would look like an attainable rate.
    if (track.kind == query::track_kind::bandwidth && top > highest * 1.08)
      std::erase_if(axis.ticks, [&](const format::tick& tick) { return tick.value > top / room * 1.0001; });
    return axis;
  }

  static float to_y(const draw::rectangle& chart, const series_lane& lane, double value) {
    return std::floor(chart.max.y - static_cast<float>(value / lane.axis.top) * chart.height() + 0.5F);
  }

  void draw_axis(const view_context& with, const row_frame& where, const draw::rectangle& chart,
                 const series_lane& lane, ImDrawList& list) const {
    ImGui::PushFont(nullptr, small_text);
    const float line = ImGui::GetTextLineHeight();
    float lowest = chart.max.y + std::floor(line * 0.5F);  // drawn from the bottom up; labels must not touch
    if (&lane != &lanes_.front()) list.AddLineH(where.header.min.x, chart.max.x, chart.min.y, with.colours.grid);
    for (const format::tick& tick : lane.axis.ticks) {
      const float y = to_y(chart, lane, tick.value);
      list.AddLineH(chart.min.x, chart.max.x, y, with.colours.grid);
      const float top = y - std::floor(line * 0.5F);
      if (top + line > lowest || top < chart.min.y - with.px(padding)) continue;
      const ImVec2 size = ImGui::CalcTextSize(tick.label.c_str());
      list.AddText({where.header.max.x - size.x - with.px(6), top}, with.colours.muted, tick.label.c_str());
      lowest = top - 1;
    }
    ImGui::PopFont();
  }

  /// Draws the limit lines of a lane, and the names of the limits in one row above the highest line.
  void draw_limits(const view_context& with, const draw::rectangle& chart, const series_lane& lane,
                   ImDrawList& list) const {
    ImGui::PushFont(nullptr, small_text);
    const float line = ImGui::GetTextLineHeight();
    std::string names;
    bool outside = false;
    float highest = chart.max.y;
    for (const query::limit_line& limit : shown_->limits) {
      if (limit.direction != trace::direction::unknown && lane.direction != trace::direction::unknown &&
          limit.direction != lane.direction)
        continue;
      names += (names.empty() ? "" : ",  ") + limit.label;
      if (limit.value > lane.axis.top) {
        outside = true;
        highest = chart.min.y + line;
      } else {
        const float y = to_y(chart, lane, limit.value);
        list.AddLineH(chart.min.x, chart.max.x, y, with.colours.limit);
        highest = std::min(highest, y);
      }
    }
    if (outside) names = "\xE2\x86\x91 " + names;
    const float width = ImGui::CalcTextSize(names.c_str()).x;
    const float left = std::floor(chart.max.x - with.px(6) - width);
    const float top = std::max(highest - line - 1, chart.min.y - with.px(4));
    if (!names.empty() && left > chart.min.x) {
      // The text may be over filled areas, so draw a box in the background color behind it.
      if (outside) list.AddRectFilled({left - 3, top}, {left + width + 3, top + line}, with.colours.background);
      list.AddText({left, top}, outside ? with.colours.muted : with.colours.limit, names.c_str());
    }
    ImGui::PopFont();
  }

  /// Draws the name of each band inside the band's area if the area is high enough.
  void draw_labels(const view_context& with, const row_frame& where, const draw::rectangle& chart,
                   const series_lane& lane, ImDrawList& list) const {
    if (lane.labels.empty() || shown_->bands.size() < 2) return;
    ImGui::PushFont(nullptr, small_text);
    const float line = ImGui::GetTextLineHeight();
    const float least = with.px(min_labelled);
    for (const band_label& each : lane.labels) {
      const float top = to_y(chart, lane, each.high);
      const float bottom = to_y(chart, lane, each.low);
      if (bottom - top < least) continue;
      const query::band& band = shown_->bands[each.band];
      const band_mark mark = get_mark(lane, each.band);
      const std::string_view text = names_[each.band];
      const float width = text_width(text);
      const float left = std::max(where.to_x(each.span.begin), chart.min.x);
      const float right = std::min(where.to_x(each.span.end), chart.max.x);
      if (right - left < width + with.px(4)) continue;
      list.AddText({std::floor((left + right - width) * 0.5F), std::floor((top + bottom - line) * 0.5F)},
                   mark == band_mark::outline ? with.colours.text : with.colours.text_on(with.colours.of(band)),
                   text.data(), text.data() + text.size());
    }
    ImGui::PopFont();
  }

  static band_mark get_mark(const series_lane& lane, std::size_t band) {
    for (const band_stack& each : lane.levels)
      if (std::find(each.bands.begin(), each.bands.end(), band) != each.bands.end()) return each.mark;
    return band_mark::area;
  }

  /// Index of the bin that is drawn at `time`; none if the band has no bin there.
  [[nodiscard]] std::optional<std::size_t> bin_at(const query::band& band, time_ns time) const {
    const double place = static_cast<double>(time - shown_->range.begin) /
                         static_cast<double>(std::max<time_ns>(shown_->range.length(), 1));
    if (band.bins.empty() || place < 0 || place >= 1) return std::nullopt;
    return std::min(static_cast<std::size_t>(place * static_cast<double>(band.bins.size())), band.bins.size() - 1);
  }

  /// The band whose area is under the mouse; null if there is none. Where stacks overlap, the lower one is in front.
  [[nodiscard]] const query::band* band_at(const series_lane& lane, const draw::rectangle& inner,
                                           const row_frame& where) const {
    const double height = lane.axis.top * static_cast<double>((inner.max.y - where.mouse.y) / inner.height());
    const time_ns time = where.time_at(where.mouse.x);
    const query::band* found = nullptr;
    double lowest = 0;
    for (const band_stack& level : lane.levels) {
      if (level.mark == band_mark::dots) continue;
      double top = 0;
      const query::band* here = nullptr;
      for (const std::size_t each : level.bands) {
        const query::band& band = shown_->bands[each];
        if (const auto bin = bin_at(band, time)) top += compute_height(band, *bin, query::track_kind::memory);
        if (here == nullptr && top >= height) here = &band;
      }
      if (here == nullptr || (found != nullptr && top >= lowest)) continue;
      found = here;
      lowest = top;
    }
    return found;
  }

  [[nodiscard]] static blocks_filter select_blocks(const query::band& band, const query::track& track,
                                                   const row_frame& where) {
    const time_ns time = where.time_at(where.mouse.x);
    blocks_filter filter;
    filter.range = time_range{time, time + 1};
    filter.layer = band.layer;
    if (track.device != trace::device_id::none) filter.device = track.device;
    filter.kind = band.kind;
    if (band.by_category) filter.category = band.category;
    filter.group_words = band.label;
    return filter;
  }

  /// Lists the bands of a lane from the top of the stack to the bottom, each with a tooltip that explains it.
  void draw_legend(const view_context& with, const row_frame& where, float y, float bottom, const series_lane& lane,
                   ImDrawList& list) const {
    if (shown_->bands.size() < 2 && lane.direction == trace::direction::unknown) return;
    ImGui::PushFont(nullptr, small_text);
    const float line = ImGui::GetTextLineHeight();
    const float left = where.header.min.x + with.px(12);
    const float right = where.header.max.x - with.px(axis_width);
    std::string_view explained;
    for (auto level = lane.levels.rbegin(); level != lane.levels.rend(); ++level)
      for (auto at = level->bands.rbegin(); at != level->bands.rend(); ++at) {
        if (y + line > bottom + 1) continue;
        const query::band& band = shown_->bands[*at];
        draw_swatch(with, {left, y}, line, band, level->mark, list);
        draw_text_until(list, {left + with.px(13), y}, right, with.colours.muted, brief(band, level->mark));
        if (where.named && where.mouse.y >= y && where.mouse.y < y + line) explained = get_term(band, level->mark);
        y += line;
      }
    ImGui::PopFont();
    if (!explained.empty()) show_term(with, explained);
  }

  static void draw_swatch(const view_context& with, ImVec2 at, float line, const query::band& band, band_mark mark,
                          ImDrawList& list) {
    const float side = with.px(8);
    const ImU32 colour = with.colours.of(band);
    const ImVec2 min(at.x, std::floor(at.y + (line - side) * 0.5F));
    const ImVec2 max(min.x + side, min.y + side);
    if (mark == band_mark::dots) {
      const float half = with.px(1.5F);
      const ImVec2 middle(std::floor((min.x + max.x) * 0.5F), std::floor((min.y + max.y) * 0.5F));
      list.AddLineH(min.x, max.x, middle.y, mix(with.colours.background, colour, 0.45F));
      list.AddRectFilled({middle.x - half, middle.y - half}, {middle.x + half, middle.y + half}, colour);
    } else if (mark == band_mark::outline) {
      list.AddRectFilled(min, max, mix(with.colours.background, colour, 0.16F));
      list.AddRect(min, max, colour);
    } else {
      list.AddRectFilled(min, max, colour);
    }
  }

  /// True if the use of the whole GPU is known at `time`. Before the first sample, its curve is 0.
  [[nodiscard]] bool was_sampled(time_ns time) const {
    return std::any_of(shown_->bands.begin(), shown_->bands.end(), [&](const query::band& each) {
      const auto bin = bin_at(each, time);
      return is_sampled(each) && bin && each.bins[*bin].maximum > 0;
    });
  }

  void tip(const view_context& with, const query::track& track, const row_frame& where, const row_hit& hit) const {
    const time_ns time = where.time_at(where.mouse.x);
    if (!begin_tip(with)) return;
    ImGui::PushFont(with.fonts.bold, 0);
    ImGui::TextUnformatted(track.label.c_str());
    ImGui::PopFont();
    float column = with.px(60);
    for (const query::band& band : shown_->bands)
      column = std::max(column, ImGui::CalcTextSize(band.label.c_str()).x + with.px(32));
    tip_field(with, "at", format::time_point(time, static_cast<time_ns>(where.ns_per_pixel())), column);
    for (const query::band& band : shown_->bands) {
      const auto in = bin_at(band, time);
      if (!in) continue;
      if (is_sampled(band) && !was_sampled(time)) {
        swatch(with, with.colours.of(band), band.role == query::band_role::untracked);
        tip_field(with, band.label, content_.sampled ? "not sampled yet" : "not sampled", column - with.px(15));
        continue;
      }
      const std::size_t at = *in;
      const query::bin& bin = band.bins[at];
      swatch(with, with.colours.of(band), band.role == query::band_role::untracked);
      std::string text = format::value(compute_height(band, at, track.kind), unit_);
      if (at < band.busy.size() && band.busy[at] < 0.995F)
        text += band.busy[at] > 0
                    ? " while copying, " + format_share(static_cast<double>(band.busy[at])) + " of the time"
                    : "";
      if (track.kind != query::track_kind::bandwidth && bin.minimum < bin.maximum)
        text += " (" + format::value(bin.minimum, unit_) + " to " + format::value(bin.maximum, unit_) + ")";
      // Use the name that the legend shows. Sampled bands are described by their longer label instead.
      const bool outlined =
          band.role == query::band_role::used &&
          std::any_of(lanes_.begin(), lanes_.end(), [&](const series_lane& lane) {
            return get_mark(lane, static_cast<std::size_t>(&band - shown_->bands.data())) == band_mark::outline;
          });
      tip_field(with, outlined ? brief(band, band_mark::outline) : std::string_view(band.label), text,
                column - with.px(15));
    }
    if (std::any_of(shown_->bands.begin(), shown_->bands.end(), [](const auto& band) { return band.by_category; }))
      ImGui::TextDisabled("Categories are inferred, unless the program named them.");
    for (const query::limit_line& limit : shown_->limits) ImGui::TextDisabled("%s", limit.label.c_str());
    if (hit.blocks)
      ImGui::TextDisabled("Click to list the blocks of %s in Blocks. Double-click to show the panel Blocks.",
                          hit.blocks->group_words.c_str());
    end_tip();
  }

  screen_slot<query::series_query> query_;
  std::shared_ptr<const query::series> shown_;
  theme_kind theme_ = theme_kind::dark;
  format::value_unit unit_ = format::value_unit::none;
  std::vector<series_lane> lanes_;
  memory_scale scale_;
  lane_content content_;
  memory_failure failed_;
  highest_mark highest_;
  block_areas blocks_;
  bool of_blocks_ = false;
  std::vector<std::string> names_;  ///< The name of each band in its area, with the most bytes in view.
  float pixels_ = 0;
  bool complete_ = false;
};

}  // namespace

std::unique_ptr<track_row> make_series_row() { return std::make_unique<series_row>(); }

std::unique_ptr<track_row> make_track_row(const query::track& track) {
  switch (track.kind) {
    case query::track_kind::memory:
    case query::track_kind::pool:
    case query::track_kind::bandwidth:
    case query::track_kind::counter:
      return make_series_row();
    default:
      return make_slice_row();
  }
}

void draw_text_until(ImDrawList& list, ImVec2 at, float right, ImU32 colour, std::string_view text) {
  if (right <= at.x) return;
  const char* end = text.data() + text.size();
  const ImVec2 size = ImGui::CalcTextSize(text.data(), end);
  ImGui::PushStyleColor(ImGuiCol_Text, colour);
  ImGui::RenderTextEllipsis(&list, at, {right, at.y + size.y + 2}, right, text.data(), end, &size);
  ImGui::PopStyleColor();
}

float draw_row_label(const view_context& with, ImDrawList& list, const row_frame& where, const query::track& track,
                     float right_margin) {
  const float left = where.header.min.x + with.px(12);
  const float right = where.header.max.x - right_margin;
  float y = where.header.min.y + with.px(5);
  ImGui::PushFont(nullptr, 13.5F);
  const float line = ImGui::GetTextLineHeight();
  draw_text_until(list, {left, y}, right, with.colours.text, track.label);
  ImGui::PopFont();
  y += line + 1;
  std::string_view detail = track.detail;
  if (detail.starts_with(where.group)) detail.remove_prefix(where.group.size());
  if (detail.starts_with(", ")) detail.remove_prefix(2);
  if (!detail.empty() && y + line <= where.header.max.y) {
    ImGui::PushFont(nullptr, small_text);
    draw_text_until(list, {left, y}, right, with.colours.muted, detail);
    y += ImGui::GetTextLineHeight() + 1;
    ImGui::PopFont();
  }
  return y;
}

}  // namespace sluice::gui
