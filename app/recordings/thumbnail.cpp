#include "app/recordings/thumbnail.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace sluice::recordings {
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

/// The heights at which the parts of the picture begin and end.
constexpr float copies_top = 0.11F, kernels_begin = 0.14F, kernels_top = 0.25F, memory_begin = 0.28F;

/// Bands that are drawn on top of one another.
struct band_level {
  std::vector<std::size_t> bands;
  bool reserved = false;
};

/// Returns the levels of a device's memory. The first is in front: the innermost layer, whose memory is in use. Memory
/// of lower layers is only reserved in its view.
std::vector<band_level> list_levels(const query::series& memory) {
  std::array<band_level, trace::layer_count> inner;
  band_level stack;
  std::vector<band_level> levels, reserved;
  for (std::size_t i = 0; i < memory.bands.size(); ++i) {
    const query::band& band = memory.bands[i];
    const bool used = band.role == query::band_role::used;
    if (!used && band.role != query::band_role::reserved) continue;  // Samples of the whole GPU would hide the rest.
    if (band.stacked) {
      stack.bands.push_back(i);
    } else if (!used) {
      reserved.push_back({{i}, true});
    } else if (band.layer != trace::layer::driver) {
      inner[static_cast<std::size_t>(band.layer)].bands.push_back(i);
    } else {
      levels.push_back({{i}});
    }
  }
  for (band_level& each : inner)
    if (!each.bands.empty()) levels.insert(levels.begin(), std::move(each));
  if (!stack.bands.empty()) levels.push_back(std::move(stack));
  for (std::size_t i = 1; i < levels.size(); ++i) levels[i].reserved = true;
  levels.insert(levels.end(), reserved.begin(), reserved.end());
  return levels;
}

double get_bytes(const query::band& band, std::size_t column) {
  return column < band.bins.size() ? std::max(0.0, band.bins[column].at_peak) : 0;
}

/// Returns the highest sum of a level's bands in any column.
double find_highest(const query::series& memory, const std::vector<band_level>& levels, std::size_t columns) {
  double highest = 0;
  for (const band_level& level : levels)
    for (std::size_t at = 0; at < columns; ++at) {
      double sum = 0;
      for (const std::size_t band : level.bands) sum += get_bytes(memory.bands[band], at);
      highest = std::max(highest, sum);
    }
  return highest;
}

void add_level(const query::series& memory, const band_level& level, std::size_t columns, double highest,
               std::vector<thumbnail_shape>& to) {
  std::vector<double> sums(columns);
  const auto get_height = [&](double bytes) {
    return memory_begin + (1 - memory_begin) * static_cast<float>(bytes / highest);
  };
  for (const std::size_t band : level.bands) {
    thumbnail_shape shape{level.reserved ? thumbnail_part::reserved : thumbnail_part::used, band, {}};
    for (std::size_t at = 0; at < columns; ++at) {
      const float low = get_height(sums[at]);
      sums[at] += get_bytes(memory.bands[band], at);
      shape.bars.emplace_back(low, get_height(sums[at]));
    }
    to.push_back(std::move(shape));
  }
}

thumbnail_shape get_line(const std::vector<float>& shares, thumbnail_part part, float begin, float top) {
  thumbnail_shape shape{part, 0, {}};
  for (const float share : shares) shape.bars.emplace_back(begin, begin + (top - begin) * share);
  return shape;
}

}  // namespace

result<thumbnail> make_thumbnail(query::engine& engine) {
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

std::vector<thumbnail_shape> list_shapes(const thumbnail& subject) {
  std::vector<thumbnail_shape> shapes;
  const query::series& memory = subject.memory;
  std::size_t columns = 0;
  for (const query::band& band : memory.bands) columns = std::max(columns, band.bins.size());
  const std::vector<band_level> levels = list_levels(memory);
  const double highest = find_highest(memory, levels, columns);
  for (std::size_t i = levels.size(); highest > 0 && i-- > 0;) add_level(memory, levels[i], columns, highest, shapes);
  shapes.push_back(get_line(subject.kernels, thumbnail_part::kernels, kernels_begin, kernels_top));
  shapes.push_back(get_line(subject.copies, thumbnail_part::copies, 0, copies_top));
  return shapes;
}

}  // namespace sluice::recordings
