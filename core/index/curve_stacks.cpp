#include "core/index/curve_stacks.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "core/index/memory/memory_use.hpp"

namespace sluice::index {
namespace {

using trace::curve_kind;
using trace::curve_row;
using trace::layer;

/// Returns the pools whose reserved bytes are known. These bytes include the pools' blocks.
std::set<trace::pool_id> pools_with_reserved(std::span<const curve_row> curves) {
  std::set<trace::pool_id> ids;
  for (const curve_row& curve : curves)
    if (curve.type == curve_kind::pool_reserved) ids.insert(curve.pool);
  return ids;
}

/// Returns the device whose driver-layer stack contains the curve of a pool.
std::optional<trace::device_id> device_of_pool(const curve_row& curve, const trace::tables& tables) {
  const trace::pool_row* const about = tables.pools.find(curve.pool);
  if (about == nullptr || !is_driver_pool(*about, curve.has_segments)) return std::nullopt;
  return about->device;
}

}  // namespace

curve_stacks::curve_stacks(std::span<const curve_row> curves, const trace::tables& tables)
    : stacks_(curves.size(), none) {
  std::map<std::pair<trace::device_id, layer>, std::uint32_t> numbers;
  const auto put = [&](std::size_t curve, trace::device_id device, layer subject, bool counts) {
    const auto [found, fresh] = numbers.try_emplace({device, subject}, static_cast<std::uint32_t>(counted_.size()));
    if (fresh) counted_.emplace_back();
    stacks_[curve] = found->second;
    if (counts) counted_[found->second].push_back(static_cast<std::uint32_t>(curve));
  };
  const auto reserved = pools_with_reserved(curves);
  for (std::size_t i = 0; i < curves.size(); ++i) {
    const curve_row& curve = curves[i];
    switch (curve.type) {
      case curve_kind::memory:
        if (!has_bytes(curve.kind)) break;
        if (curve.layer != layer::driver || is_in_driver_stack(curve)) put(i, curve.device, curve.layer, true);
        break;
      case curve_kind::category:
        put(i, curve.device, curve.layer, false);
        break;
      case curve_kind::pool_reserved:
      case curve_kind::pool_blocks:
        if (curve.type == curve_kind::pool_blocks && reserved.contains(curve.pool)) break;
        if (const auto device = device_of_pool(curve, tables)) put(i, *device, layer::driver, true);
        break;
      case curve_kind::device_untracked:
      case curve_kind::device_recorder:
        put(i, curve.device, layer::driver, true);
        break;
      case curve_kind::unknown:
      case curve_kind::pool_used:
      case curve_kind::device_used:
      case curve_kind::rate:
      case curve_kind::counter:
        break;
    }
  }
}

stack_peaks::stack_peaks(const curve_stacks& stacks, std::span<const index_curve> curves,
                         std::span<const std::uint32_t> wanted, time_range over, std::uint32_t width)
    : stacks_(stacks), curves_(curves), moments_(stacks.size()) {
  struct candidate {
    time_ns time = 0;
    bool varies = false;
  };
  const auto length = static_cast<std::uint64_t>(over.length());
  const auto get_begin = [&](std::uint32_t bin) {
    return over.begin + static_cast<time_ns>(length / width * bin + length % width * bin / width);
  };
  for (const std::uint32_t curve : wanted) {
    const std::uint32_t stack = stacks.find_stack(curve);
    if (stack == curve_stacks::none || !moments_[stack].empty()) continue;
    const std::vector<std::uint32_t>& counted = stacks.counted()[stack];
    std::vector<std::vector<candidate>> found(counted.size(), std::vector<candidate>(width));
    for (std::size_t k = 0; k < counted.size(); ++k) {
      if (curves[counted[k]].is_constant_in(over)) {
        for (std::uint32_t bin = 0; bin < width; ++bin) found[k][bin].time = get_begin(bin);
        continue;
      }
      curves[counted[k]].split(over, width, [&](std::uint32_t bin, const timeline::extent& part, double /*at_begin*/) {
        found[k][bin] = {part.empty() ? over.begin : part.maximum_time, part.minimum < part.maximum};
      });
    }
    std::vector<time_ns>& moments = moments_[stack];
    moments.resize(width, over.begin);
    for (std::uint32_t bin = 0; bin < width; ++bin) {
      std::size_t varying = 0;
      for (const auto& of_curve : found)
        if (of_curve[bin].varies || &of_curve == &found.front()) {
          moments[bin] = of_curve[bin].time;
          varying += of_curve[bin].varies ? 1 : 0;
        }
      if (varying < 2) continue;
      double highest = -std::numeric_limits<double>::infinity();
      for (const auto& of_curve : found) {
        if (!of_curve[bin].varies) continue;
        double sum = 0;
        for (const std::uint32_t other : counted) sum += curves[other].at(of_curve[bin].time);
        if (sum <= highest) continue;
        highest = sum;
        moments[bin] = of_curve[bin].time;
      }
    }
  }
}

double stack_peaks::value(std::size_t number, std::uint32_t bin, const timeline::extent& part) const {
  if (part.minimum == part.maximum) return part.minimum;
  const std::uint32_t stack = stacks_.find_stack(number);
  if (stack == curve_stacks::none || moments_[stack].empty()) return part.maximum;
  return curves_[number].at(moments_[stack][bin]);
}

std::vector<std::vector<timeline::sampled_bin>> sample_curves(std::span<const index_curve> curves,
                                                              const curve_stacks& stacks,
                                                              std::span<const std::uint32_t> wanted, time_range over,
                                                              std::uint32_t width) {
  std::vector<std::vector<timeline::sampled_bin>> lists(wanted.size());
  const stack_peaks peaks(stacks, curves, wanted, over, width);
  for (std::size_t k = 0; k < wanted.size(); ++k) {
    lists[k].resize(width);
    curves[wanted[k]].split(over, width, [&](std::uint32_t i, const timeline::extent& part, double at_begin) {
      lists[k][i] = sampled(part, at_begin);
      if (!part.empty()) lists[k][i].at_peak = peaks.value(wanted[k], i, part);
    });
  }
  return lists;
}

}  // namespace sluice::index
