#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "core/base/format.hpp"
#include "core/base/thread_scratch.hpp"
#include "core/index/labels.hpp"
#include "core/query/engine/bin_source.hpp"
#include "core/query/results/result_functions.hpp"
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
  composer(const series_query& query, const sources& from) : query_(query), all_(from, query.by_category) {}

  [[nodiscard]] std::span<const curve_row> curves() const { return all_.curves(); }
  /// The first curve of a kind that satisfies `of`; null if there is none.
  template <class Is>
  [[nodiscard]] const curve_row* find(trace::curve_kind what, Is&& of) const {
    for (const curve_row& curve : all_.curves())
      if (curve.what == what && of(curve)) return &curve;
    return nullptr;
  }

  band& add(std::string label, band_role role, const curve_row& curve) {
    places_.push_back(static_cast<std::uint32_t>(&curve - all_.curves().data()));
    band& made = made_.bands.emplace_back();
    made.label = std::move(label);
    made.role = role;
    return made;
  }
  /// Like `add`; the band is stacked on the previous stacked bands.
  band& stack(std::string label, band_role role, const curve_row& curve) {
    stacked_ += curve.maximum;
    band& made = add(std::move(label), role, curve);
    made.stacked = true;
    return made;
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

  /// Sets the share of each bin in which copies ran, for each rate: `sample` gives the mean over the whole bin. Call
  /// after `finish`. O(copies + bins).
  result<void> put_busy(series& into, trace::device_id device) const {
    thread_scratch<timeline::drawn_slice> drawn;
    for (std::size_t place = 0; place < all_.owners().size(); ++place) {
      const trace::lane_row& about = all_.owners()[place].about;
      if (about.what != trace::lane_kind::direction || about.device != device) continue;
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
    std::size_t first_part = 0;  ///< Position in `made_.bands`.
    std::size_t parts = 0;
  };

  /// Files before 4.1 do not store the parts at the whole's peak. Then each part is placed at the same fraction between
  /// its minimum and its maximum, so that they add up to the whole.
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
    const double from = static_cast<double>(std::max(slice.item.begin, range.begin) - range.begin) / ns_per_bin;
    const double to = static_cast<double>(std::min(slice.item.end, range.end) - range.begin) / ns_per_bin;
    for (auto bin = static_cast<std::size_t>(from); bin < busy.size() && static_cast<double>(bin) < to; ++bin) {
      const double low = std::max(from, static_cast<double>(bin));
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
    return curve.kind == memory_kind::managed ? "Managed (either side)" : capital(std::string(name_of(curve.kind)));
  }
  return fmt::format("{}: {}", capital(std::string(name_of(curve.layer))), name_of(curve.kind));
}

void put_kind(band& into, layer layer, memory_kind kind) {
  into.layer = layer;
  into.kind = kind;
}

/// The longest-lived at the bottom, so that the bands above move least.
constexpr std::array category_order = {
    index::category::weight, index::category::optimizer_state, index::category::gradient, index::category::activation,
    index::category::input,  index::category::workspace,       index::category::none};

bool same_memory(const curve_row& a, const curve_row& b) {
  return a.device == b.device && a.layer == b.layer && a.kind == b.kind;
}

/// Returns false if this memory has no categories.
bool put_categories(composer& all, const curve_row& memory) {
  std::size_t count = 0;
  for (const index::category what : category_order) {
    const curve_row* part = all.find(trace::curve_kind::category, [&](const curve_row& curve) {
      return curve.category == static_cast<std::uint8_t>(what) && same_memory(curve, memory);
    });
    if (part == nullptr) continue;
    band& made = all.add(capital(std::string(index::category_name(what))), band_role::used, *part);
    put_kind(made, memory.layer, memory.kind);
    made.category = what;
    made.by_category = true;
    ++count;
  }
  if (count > 0) all.are_parts_of(memory, count);
  return count > 0;
}

void put_driver_pools(composer& all, const track& row, const trace::tables& tables) {
  if (row.device == trace::device_id::none) return;
  trace::pool_id before{};
  for (const curve_row& curve : all.curves()) {
    if (curve.pool == trace::pool_id::none || curve.pool == before) continue;
    before = curve.pool;
    const trace::pool_row* about = tables.pools.find(curve.pool);
    if (about == nullptr || about->device != row.device || !index::is_driver_pool(*about, curve.has_segments)) continue;
    const auto of_pool = [&](const curve_row& each) { return each.pool == curve.pool; };
    const std::string label = index::pool_label(curve.pool, tables);
    if (const curve_row* reserved = all.find(trace::curve_kind::pool_reserved, of_pool)) {
      put_kind(all.stack(label + " (reserved)", band_role::reserved, *reserved), layer::driver, about->kind);
    } else if (const curve_row* blocks = all.find(trace::curve_kind::pool_blocks, of_pool)) {
      put_kind(all.stack(label, band_role::used, *blocks), layer::driver, about->kind);
    }
  }
}

void put_samples(composer& all, const track& row) {
  const auto of_device = [&](const curve_row& curve) { return curve.device == row.device; };
  const curve_row* untracked = all.find(trace::curve_kind::device_untracked, of_device);
  if (untracked == nullptr) return;
  const bool managed = all.find(trace::curve_kind::memory, [&](const curve_row& curve) {
    return of_device(curve) && curve.layer == layer::driver && curve.kind == memory_kind::managed;
  }) != nullptr;
  all.stack(managed ? "Untracked: CUDA context, libraries, managed pages here, other processes"
                    : "Untracked: CUDA context, libraries, other processes",
            band_role::untracked, *untracked);
  const curve_row* own = all.find(trace::curve_kind::device_recorder, of_device);
  if (own != nullptr && own->maximum > 0) all.stack("Profiler overhead (estimated)", band_role::recorder, *own);
  if (const curve_row* used = all.find(trace::curve_kind::device_used, of_device))
    all.line("Whole GPU in use (sampled)", band_role::total, *used);
}

result<series> memory_series(const series_query& query, const track& row, const sources& from) {
  composer all(query, from);
  const auto of_device = [&](const curve_row& curve) {
    return curve.what == trace::curve_kind::memory && curve.device == row.device;
  };
  for (const curve_row& curve : all.curves())
    if (of_device(curve) && index::is_in_driver_stack(curve))
      put_kind(all.stack(memory_label(curve), band_role::used, curve), curve.layer, curve.kind);
  put_driver_pools(all, row, from.trace.tables());
  put_samples(all, row);
  for (const curve_row& curve : all.curves()) {
    if (!of_device(curve) || index::is_in_driver_stack(curve) || !index::has_bytes(curve.kind)) continue;
    if (query.by_category && put_categories(all, curve)) continue;
    put_kind(all.line(memory_label(curve), band_role::used, curve), curve.layer, curve.kind);
  }
  double ceiling = 0;
  if (const trace::device_row* device = from.trace.tables().devices.find(row.device);
      device != nullptr && device->memory_bytes > 0) {
    ceiling = static_cast<double>(device->memory_bytes);
    all.limit("Device memory " + format_bytes(device->memory_bytes), ceiling);
  }
  return all.finish(ceiling);
}

result<series> pool_series(const series_query& query, const track& row, const sources& from) {
  composer all(query, from);
  const auto of_pool = [&](const curve_row& curve) { return curve.pool == row.pool; };
  if (const curve_row* reserved = all.find(trace::curve_kind::pool_reserved, of_pool))
    all.line("Reserved", band_role::reserved, *reserved);
  const curve_row* used = all.find(trace::curve_kind::pool_blocks, of_pool);
  if (used == nullptr) used = all.find(trace::curve_kind::pool_used, of_pool);
  if (used != nullptr) {
    band& made = all.line("Used", band_role::used, *used);
    // The blocks of a driver's pool belong to the layer `pool`, too.
    const trace::pool_row* about = from.trace.tables().pools.find(row.pool);
    if (about != nullptr) put_kind(made, about->layer == layer::driver ? layer::pool : about->layer, about->kind);
  }
  return all.finish();
}

void put_link_limits(composer& all, const trace::device_row& device) {
  if (device.link_peak > 0) {
    const std::string link = device.link_generation > 0
                                 ? fmt::format("PCIe {} x{} peak", device.link_generation, device.link_width)
                                 : std::string("Link peak");
    all.limit(link + " " + format_rate(static_cast<double>(device.link_peak)), static_cast<double>(device.link_peak));
  }
  const auto attainable = [&](trace::direction way, std::uint64_t rate) {
    if (rate == 0) return;
    all.limit(fmt::format("Attainable {} {}", name_of(way), format_rate(static_cast<double>(rate))),
              static_cast<double>(rate), way);
  };
  attainable(trace::direction::h2d, device.attainable_h2d);
  attainable(trace::direction::d2h, device.attainable_d2h);
}

result<series> bandwidth_series(const series_query& query, const track& row, const sources& from) {
  composer all(query, from);
  for (const curve_row& curve : all.curves()) {
    if (curve.what != trace::curve_kind::rate || curve.device != row.device) continue;
    if (axis_of(curve.way) != axis_of(row.direction)) continue;
    all.line(capital(std::string(name_of(curve.way))), band_role::value, curve).direction = curve.way;
  }
  const trace::device_row* device = from.trace.tables().devices.find(row.device);
  if (device != nullptr && row.direction == trace::direction::p2p) {
    if (device->peer_peak > 0) {
      const auto peak = static_cast<double>(device->peer_peak);
      all.limit("NVLink peak " + format_rate(peak), peak);
    }
  } else if (device != nullptr && row.direction != trace::direction::d2d) {
    put_link_limits(all, *device);
  }
  auto made = all.finish();
  if (made)
    if (auto busy = all.put_busy(*made, row.device); !busy) return tl::unexpected<error>(busy.error());
  return made;
}

result<series> counter_series(const series_query& query, const track& row, const sources& from) {
  composer all(query, from);
  const curve_row* values =
      all.find(trace::curve_kind::counter, [&](const curve_row& curve) { return curve.counter == row.counter; });
  if (values != nullptr) all.line("Value", band_role::value, *values);
  return all.finish();
}

}  // namespace

result<series> result_to(const series_query& query, const sources& from) {
  const auto row = find_track(query.track, from);
  if (!row) return tl::unexpected<error>(row.error());
  switch (row->kind) {
    case track_kind::memory:
      return memory_series(query, *row, from);
    case track_kind::pool:
      return pool_series(query, *row, from);
    case track_kind::bandwidth:
      return bandwidth_series(query, *row, from);
    case track_kind::counter:
      return counter_series(query, *row, from);
    case track_kind::direction:
    case track_kind::stream:
    case track_kind::host_thread:
    case track_kind::steps:
      break;
  }
  return fail(error_code::invalid_argument, "this track has slices instead of curves", from.trace.path());
}

}  // namespace sluice::query
