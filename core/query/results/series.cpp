#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "core/base/format.hpp"
#include "core/base/thread_scratch.hpp"
#include "core/index/labels.hpp"
#include "core/query/results/result_functions.hpp"
#include "core/query/sources/bin_source.hpp"
#include "core/trace/model/names.hpp"

namespace sluice::query {
namespace {

using trace::curve_row;
using trace::layer;
using trace::memory_kind;

std::string capital(std::string text) {
  if (!text.empty()) text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text;
}

/// Builds one result: first selects the curves, then samples all of them at once.
class composer {
 public:
  composer(const series_query& query, const sources& source) : query_(query), all_(source, query.by_category) {}

  [[nodiscard]] std::span<const curve_row> curves() const { return all_.curves(); }
  /// Returns the first curve of the kind `kind` that satisfies `of`, or null if there is none.
  template <class Is>
  [[nodiscard]] const curve_row* find(trace::curve_kind kind, Is&& subject) const {
    for (const curve_row& curve : all_.curves())
      if (curve.type == kind && subject(curve)) return &curve;
    return nullptr;
  }

  band& add(std::string label, band_role role, const curve_row& curve) {
    places_.push_back(static_cast<std::uint32_t>(&curve - all_.curves().data()));
    band& output = made_.bands.emplace_back();
    output.label = std::move(label);
    output.role = role;
    return output;
  }
  /// Like `add`; the band is stacked on the previous stacked bands.
  band& stack(std::string label, band_role role, const curve_row& curve) {
    stacked_ += curve.maximum;
    band& output = add(std::move(label), role, curve);
    output.stacked = true;
    return output;
  }
  band& line(std::string label, band_role role, const curve_row& curve) {
    reaches(curve);
    return add(std::move(label), role, curve);
  }
  /// Extends the axis to the maximum of `curve`.
  void reaches(const curve_row& curve) { made_.maximum = std::max(made_.maximum, curve.maximum); }
  /// Marks the last `count` bands as the parts of `curve`.
  void are_parts_of(const curve_row& curve, std::size_t count) {
    reaches(curve);
    wholes_.push_back({static_cast<std::uint32_t>(&curve - all_.curves().data()), made_.bands.size() - count, count});
  }

  void limit(std::string label, double value, trace::direction way = trace::direction::unknown) {
    made_.limits.push_back({std::move(label), value, way});
  }

  /// For each rate, sets the share of each bin in which copies ran, because the values in the bins are means over the
  /// whole bin. Call after `finish`. O(copies + bins).
  result<void> put_busy(series& into, trace::device_id device) const {
    thread_scratch<timeline::drawn_slice> drawn;
    for (std::size_t place = 0; place < all_.owners().size(); ++place) {
      const trace::lane_row& about = all_.owners()[place].about;
      if (about.type != trace::lane_kind::direction || about.device != device) continue;
      const auto rate = std::find_if(into.bands.begin(), into.bands.end(),
                                     [&](const band& each) { return each.direction == about.way; });
      if (rate == into.bands.end() || rate->bins.empty()) continue;
      const auto width = static_cast<std::uint32_t>(rate->bins.size());
      if (auto got = all_.draw(place, into.range, width, *drawn); !got) return got;
      rate->busy.resize(width, 0);
      for (const timeline::drawn_slice& each : *drawn) add_busy(each, into.range, rate->busy);
    }
    return {};
  }

  /// `ceiling`: an upper bound of the stacked bands' total; 0 if unknown.
  result<series> finish(double ceiling = 0) {
    if (ceiling > 0) stacked_ = std::min(stacked_, ceiling);
    made_.maximum = std::max(made_.maximum, stacked_);
    for (const whole& each : wholes_) places_.push_back(each.curve);
    auto sampled = all_.sample(places_, bounded(query_.range), std::clamp<std::uint32_t>(query_.width, 1, widest_view));
    if (!sampled) return tl::unexpected<error>(sampled.error());
    made_.range = sampled->range;
    for (std::size_t i = 0; i < made_.bands.size(); ++i) made_.bands[i].bins = std::move(sampled->bins[i]);
    for (std::size_t i = 0; i < wholes_.size(); ++i)
      limit_parts(std::span(made_.bands).subspan(wholes_[i].first_part, wholes_[i].parts),
                  sampled->bins[made_.bands.size() + i]);
    return std::move(made_);
  }

 private:
  struct whole {
    std::uint32_t curve = 0;
    std::size_t first_part = 0;  ///< The position of the first part in `made_.bands`.
    std::size_t parts = 0;
  };

  /// Limits the parts of a curve so that they add up to the whole. Files before version 4.1 do not store the values of
  /// the parts at the whole's peak. Each part is then placed at the same fraction between its minimum and its maximum.
  static void limit_parts(std::span<band> parts, std::span<const bin> whole) {
    for (std::size_t at = 0; at < whole.size(); ++at) {
      double lowest = 0, sum = 0;
      for (const band& part : parts) {
        lowest += part.bins[at].minimum;
        sum += part.bins[at].at_peak;
      }
      const double most = whole[at].maximum;
      constexpr double rounding = 1e-6;
      if (sum <= most * (1 + rounding) || sum <= lowest) continue;
      const double place = std::clamp((most - lowest) / (sum - lowest), 0.0, 1.0);
      for (band& part : parts) {
        bin& each = part.bins[at];
        each.at_peak = each.minimum + place * (each.at_peak - each.minimum);
      }
    }
  }

  /// Adds the part of each bin that a drawn slice covers. Copies of several streams may cover the same time twice, so
  /// bins are limited to 1.
  static void add_busy(const timeline::drawn_slice& slice, time_range range, std::vector<float>& busy) {
    const double ns_per_bin = static_cast<double>(range.length()) / static_cast<double>(busy.size());
    if (!(ns_per_bin > 0)) return;
    const double begin = static_cast<double>(std::max(slice.item.begin, range.begin) - range.begin) / ns_per_bin;
    const double to = static_cast<double>(std::min(slice.item.end, range.end) - range.begin) / ns_per_bin;
    for (auto bin = static_cast<std::size_t>(begin); bin < busy.size() && static_cast<double>(bin) < to; ++bin) {
      const double low = std::max(begin, static_cast<double>(bin));
      const double high = std::min(to, static_cast<double>(bin + 1));
      busy[bin] = std::min(1.0F, busy[bin] + static_cast<float>(high - low) * std::min(1.0F, slice.busy));
    }
  }

  const series_query& query_;
  bin_source all_;
  std::vector<std::uint32_t> places_;
  std::vector<whole> wholes_;
  series made_;
  double stacked_ = 0;
};

std::string memory_label(const curve_row& curve) {
  if (curve.layer == layer::driver) {
    return curve.kind == memory_kind::managed ? "Managed (either side)" : capital(std::string(get_name(curve.kind)));
  }
  return capital(describe_memory(curve.layer, curve.kind));
}

void put_kind(band& into, layer layer, memory_kind kind) {
  into.layer = layer;
  into.kind = kind;
}

/// The order of the bands, from the bottom. The longest-lived categories come first, so that the bands above them move
/// least.
constexpr std::array category_order = {
    index::category::weight, index::category::optimizer_state, index::category::gradient, index::category::activation,
    index::category::input,  index::category::workspace,       index::category::none};

bool same_memory(const curve_row& a, const curve_row& b) {
  return a.device == b.device && a.layer == b.layer && a.kind == b.kind;
}

/// Returns false if this memory has no categories.
bool put_categories(composer& whole, const curve_row& memory) {
  std::size_t count = 0;
  for (const index::category wanted : category_order) {
    const curve_row* part = whole.find(trace::curve_kind::category, [&](const curve_row& curve) {
      return curve.category == static_cast<std::uint8_t>(wanted) && same_memory(curve, memory);
    });
    if (part == nullptr) continue;
    band& output = whole.add(capital(std::string(index::category_name(wanted))), band_role::used, *part);
    put_kind(output, memory.layer, memory.kind);
    output.category = wanted;
    output.by_category = true;
    ++count;
  }
  if (count > 0) whole.are_parts_of(memory, count);
  return count > 0;
}

void put_driver_pools(composer& whole, const track& row, const trace::tables& tables) {
  if (row.device == trace::device_id::none) return;
  trace::pool_id before{};
  for (const curve_row& curve : whole.curves()) {
    if (curve.pool == trace::pool_id::none || curve.pool == before) continue;
    before = curve.pool;
    const trace::pool_row* about = tables.pools.find(curve.pool);
    if (about == nullptr || about->device != row.device || !index::is_driver_pool(*about, curve.has_segments)) continue;
    const auto of_pool = [&](const curve_row& each) { return each.pool == curve.pool; };
    const std::string label = index::pool_label(curve.pool, tables);
    if (const curve_row* reserved = whole.find(trace::curve_kind::pool_reserved, of_pool)) {
      put_kind(whole.stack(label + " (reserved)", band_role::reserved, *reserved), layer::driver, about->kind);
    } else if (const curve_row* blocks = whole.find(trace::curve_kind::pool_blocks, of_pool)) {
      put_kind(whole.stack(label, band_role::used, *blocks), layer::driver, about->kind);
    }
  }
}

void put_samples(composer& whole, const track& row) {
  const auto of_device = [&](const curve_row& curve) { return curve.device == row.device; };
  const curve_row* untracked = whole.find(trace::curve_kind::device_untracked, of_device);
  if (untracked == nullptr) return;
  const bool managed = whole.find(trace::curve_kind::memory, [&](const curve_row& curve) {
    return of_device(curve) && curve.layer == layer::driver && curve.kind == memory_kind::managed;
  }) != nullptr;
  whole.stack(managed ? "Untracked: CUDA context, libraries, managed pages here, other processes"
                      : "Untracked: CUDA context, libraries, other processes",
              band_role::untracked, *untracked);
  const curve_row* own = whole.find(trace::curve_kind::device_recorder, of_device);
  if (own != nullptr && own->maximum > 0) whole.stack("Profiler overhead (estimated)", band_role::recorder, *own);
  if (const curve_row* used = whole.find(trace::curve_kind::device_used, of_device))
    whole.line("In use on the whole GPU (sampled)", band_role::total, *used);
}

result<series> memory_series(const series_query& query, const track& row, const sources& source) {
  composer whole(query, source);
  const auto of_device = [&](const curve_row& curve) {
    return curve.type == trace::curve_kind::memory && curve.device == row.device;
  };
  for (const curve_row& curve : whole.curves())
    if (of_device(curve) && index::is_in_driver_stack(curve))
      put_kind(whole.stack(memory_label(curve), band_role::used, curve), curve.layer, curve.kind);
  put_driver_pools(whole, row, source.trace.tables());
  put_samples(whole, row);
  for (const curve_row& curve : whole.curves()) {
    if (!of_device(curve) || index::is_in_driver_stack(curve) || !index::has_bytes(curve.kind)) continue;
    if (query.by_category && put_categories(whole, curve)) continue;
    put_kind(whole.line(memory_label(curve), band_role::used, curve), curve.layer, curve.kind);
  }
  double ceiling = 0;
  if (const trace::device_row* device = source.trace.tables().devices.find(row.device);
      device != nullptr && device->memory_bytes > 0) {
    ceiling = static_cast<double>(device->memory_bytes);
    whole.limit("Device memory " + format_bytes(device->memory_bytes), ceiling);
  }
  return whole.finish(ceiling);
}

result<series> pool_series(const series_query& query, const track& row, const sources& source) {
  composer whole(query, source);
  const auto of_pool = [&](const curve_row& curve) { return curve.pool == row.pool; };
  if (const curve_row* reserved = whole.find(trace::curve_kind::pool_reserved, of_pool))
    whole.line("Reserved", band_role::reserved, *reserved);
  const curve_row* used = whole.find(trace::curve_kind::pool_blocks, of_pool);
  if (used == nullptr) used = whole.find(trace::curve_kind::pool_used, of_pool);
  if (used != nullptr) {
    band& output = whole.line("Used", band_role::used, *used);
    // The blocks of a driver's pool also belong to the layer `pool`.
    const trace::pool_row* about = source.trace.tables().pools.find(row.pool);
    if (about != nullptr) put_kind(output, about->layer == layer::driver ? layer::pool : about->layer, about->kind);
  }
  return whole.finish();
}

void put_link_limits(composer& whole, const trace::device_row& device) {
  if (device.link_peak > 0) {
    const std::string link = device.link_generation > 0
                                 ? fmt::format("PCIe {} x{} peak", device.link_generation, device.link_width)
                                 : std::string("Link peak");
    whole.limit(link + " " + format_rate(static_cast<double>(device.link_peak)), static_cast<double>(device.link_peak));
  }
  const auto attainable = [&](trace::direction way, std::uint64_t rate) {
    if (rate == 0) return;
    whole.limit(fmt::format("Attainable {} {}", get_name(way), format_rate(static_cast<double>(rate))),
                static_cast<double>(rate), way);
  };
  attainable(trace::direction::h2d, device.attainable_h2d);
  attainable(trace::direction::d2h, device.attainable_d2h);
}

result<series> bandwidth_series(const series_query& query, const track& row, const sources& source) {
  composer whole(query, source);
  for (const curve_row& curve : whole.curves()) {
    if (curve.type != trace::curve_kind::rate || curve.device != row.device) continue;
    if (get_axis(curve.way) != get_axis(row.direction)) continue;
    whole.line(capital(std::string(get_name(curve.way))), band_role::value, curve).direction = curve.way;
  }
  const trace::device_row* device = source.trace.tables().devices.find(row.device);
  if (device != nullptr && row.direction == trace::direction::p2p) {
    if (device->peer_peak > 0) {
      const auto peak = static_cast<double>(device->peer_peak);
      whole.limit("NVLink peak " + format_rate(peak), peak);
    }
  } else if (device != nullptr && row.direction != trace::direction::d2d) {
    put_link_limits(whole, *device);
  }
  auto finish = whole.finish();
  if (finish)
    if (auto busy = whole.put_busy(*finish, row.device); !busy) return tl::unexpected<error>(busy.error());
  return finish;
}

result<series> counter_series(const series_query& query, const track& row, const sources& source) {
  composer whole(query, source);
  const curve_row* values =
      whole.find(trace::curve_kind::counter, [&](const curve_row& curve) { return curve.counter == row.counter; });
  if (values != nullptr) whole.line("Value", band_role::value, *values);
  return whole.finish();
}

}  // namespace

result<series> result_to(const series_query& query, const sources& source) {
  const auto row = find_track(query.track, source);
  if (!row) return tl::unexpected<error>(row.error());
  switch (row->kind) {
    case track_kind::memory:
      return memory_series(query, *row, source);
    case track_kind::pool:
      return pool_series(query, *row, source);
    case track_kind::bandwidth:
      return bandwidth_series(query, *row, source);
    case track_kind::counter:
      return counter_series(query, *row, source);
    case track_kind::direction:
    case track_kind::stream:
    case track_kind::host_thread:
    case track_kind::steps:
      break;
  }
  return fail(error_code::invalid_argument, "this track has slices instead of curves", source.trace.path());
}

}  // namespace sluice::query
