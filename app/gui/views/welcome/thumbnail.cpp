#include "app/gui/views/welcome/thumbnail.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "app/gui/views/timeline/series_lanes.hpp"
#include "core/base/threads/worker_thread.hpp"
#include "core/summary/passes/finalize.hpp"
#include "imgui.h"

namespace sluice::gui {
namespace {

/// Adds the time that the kernels, or all of `slices`, cover to equal parts of their range.
void add_busy(const query::slice_list& slices, bool only_kernels, std::vector<float>& to) {
  if (slices.range.length() <= 0) return;
  const double per_ns = static_cast<double>(to.size()) / static_cast<double>(slices.range.length());
  for (const query::slice& each : slices.slices) {
    if (only_kernels && each.kind != query::slice_kind::kernel) continue;
    const double begin = static_cast<double>(each.begin - slices.range.begin) * per_ns;
    const double end = static_cast<double>(each.end - slices.range.begin) * per_ns;
    for (double at = std::max(std::floor(begin), 0.0); at < end && at < static_cast<double>(to.size()); ++at) {
      const double covered = std::min(end, at + 1) - std::max(begin, at);
      float& column = to[static_cast<std::size_t>(at)];
      column = std::min(column + static_cast<float>(covered) * each.busy, 1.0F);
    }
  }
}

/// Draws one bar for each column of `shares`, from the lower edge of `area` upward.
void draw_shares(const std::vector<float>& shares, ImU32 colour, const draw::rectangle& area) {
  ImDrawList& list = *ImGui::GetWindowDrawList();
  const float width = area.width() / static_cast<float>(std::max<std::size_t>(shares.size(), 1));
  for (std::size_t i = 0; i < shares.size(); ++i) {
    if (shares[i] <= 0) continue;
    const float left = area.min.x + static_cast<float>(i) * width;
    // A short kernel stays visible.
    const float height = std::max(1.0F, shares[i] * area.height());
    list.AddRectFilled({left, area.max.y - height}, {left + width, area.max.y}, colour);
  }
}

/// Draws bands on top of one another. `per_byte`: the height of a byte, in pixels.
void draw_stack(const query::series& memory, const band_stack& level, double per_byte, const theme& colours,
                const draw::rectangle& area) {
  ImDrawList& list = *ImGui::GetWindowDrawList();
  const std::size_t bins = level.bands.empty() ? 0 : memory.bands[level.bands.front()].bins.size();
  const float width = area.width() / static_cast<float>(std::max<std::size_t>(bins, 1));
  for (std::size_t at = 0; at < bins; ++at) {
    double below = 0;
    for (const std::size_t band : level.bands) {
      const double above = below + compute_height(memory.bands[band], at, query::track_kind::memory);
      const ImU32 colour = level.mark == band_mark::outline ? colours.pool_free : colours.of(memory.bands[band]);
      const float left = area.min.x + static_cast<float>(at) * width;
      list.AddRectFilled({left, area.max.y - static_cast<float>(above * per_byte)},
                         {left + width, area.max.y - static_cast<float>(below * per_byte)}, colour);
      below = above;
    }
  }
}

void draw_memory(const query::series& memory, const theme& colours, const draw::rectangle& area) {
  constexpr auto kind = query::track_kind::memory;
  const std::vector<series_lane> lanes = list_lanes(memory, kind);
  if (lanes.empty()) return;
  const double highest = find_highest(lanes.front(), memory, kind);
  if (highest <= 0) return;
  const double per_byte = static_cast<double>(area.height()) / highest;
  // What is reserved lies behind what is used.
  for (const bool outlines : {true, false})
    for (const band_stack& level : lanes.front().levels)
      if (level.mark != band_mark::dots && (level.mark == band_mark::outline) == outlines)
        draw_stack(memory, level, per_byte, colours, area);
}

}  // namespace

result<thumbnail> make_thumbnail(const std::string& path) {
  auto file = trace::file::open(path);
  if (!file) return tl::unexpected(file.error());
  const auto snapshot = (*file)->latest();
  if (snapshot->growing() || summary::wants_summing_up(*snapshot, {}))
    return fail(error_code::invalid_argument, "the recording is not summarized", path);
  query::engine_options with;
  with.threads = 1;
  query::engine engine(*file, with);
  const auto tracks = engine.ask_now(query::tracks_query{});
  if (!tracks) return tl::unexpected(tracks.error());
  const time_range range = (*tracks)->opening;
  thumbnail output;
  output.kernels.resize(thumbnail::columns);
  output.copies.resize(thumbnail::columns);
  const query::track* memory = nullptr;
  for (const query::track& each : (*tracks)->tracks) {
    const bool on_device = each.device != trace::device_id::none;
    if (each.kind == query::track_kind::memory && on_device && (memory == nullptr || each.maximum > memory->maximum))
      memory = &each;
    const bool copies = each.kind == query::track_kind::direction;
    if (!copies && each.kind != query::track_kind::stream) continue;
    const auto slices = engine.ask_now(query::slices_query{each.id, range, thumbnail::columns});
    if (!slices) return tl::unexpected(slices.error());
    add_busy(**slices, !copies, copies ? output.copies : output.kernels);
  }
  if (memory == nullptr) return output;
  const auto curves = engine.ask_now(query::series_query{memory->id, range, thumbnail::columns, true});
  if (!curves) return tl::unexpected(curves.error());
  output.memory = **curves;
  return output;
}

const thumbnail* thumbnails::find(const std::string& path) {
  if (!has_threads()) return nullptr;
  follow();
  const auto [found, fresh] = known_.try_emplace(path);
  if (fresh) waiting_.push_back(path);
  return found->second ? &*found->second : nullptr;
}

void thumbnails::follow() {
  if (auto read = reading_.take(); read && read->second) known_[read->first] = std::move(*read->second);
  if (reading_.running() || waiting_.empty()) return;
  reading_.start([path = waiting_.front()] { return std::pair(path, make_thumbnail(path)); });
  if (reading_.running()) waiting_.pop_front();
}

void draw_thumbnail(const thumbnail& subject, const theme& colours, const draw::rectangle& area) {
  // Three quarters are memory; the rest is divided between kernels and copies.
  const float gap = std::max(1.0F, std::floor(area.height() * 0.03F));
  const float line = std::floor(area.height() * 0.11F);
  const float copies_top = area.max.y - line;
  const float kernels_top = copies_top - gap - line;
  draw_memory(subject.memory, colours, {area.min, {area.max.x, kernels_top - gap}});
  draw_shares(subject.kernels, colours.slice(query::slice_kind::kernel),
              {{area.min.x, kernels_top}, {area.max.x, kernels_top + line}});
  draw_shares(subject.copies, colours.directions[static_cast<std::size_t>(trace::direction::h2d)],
              {{area.min.x, copies_top}, area.max});
}

}  // namespace sluice::gui
