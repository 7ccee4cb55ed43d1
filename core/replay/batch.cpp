#include "core/replay/batch.hpp"

#include <algorithm>
#include <cmath>

namespace sluice::replay {
namespace {

using analysis::category;

/// No memory has more; keeps sizes of hostile files within what can be added up.
constexpr double most_bytes = 1e15;

bool is_of_model(category what) {
  return what == category::weight || what == category::gradient || what == category::optimizer_state;
}

}  // namespace

std::vector<category> categories_of(const allocator_requests& of, const analysis::memory_use& memory,
                                    std::span<const analysis::block_category> categories) {
  std::vector<category> made;
  made.reserve(of.ids.size());
  for (const trace::block_id id : of.ids) {
    const analysis::block_record* block = memory.find(id);
    const auto at = block == nullptr ? categories.size() : static_cast<std::size_t>(block - memory.blocks().data());
    made.push_back(at < categories.size() ? categories[at].what : category::none);
  }
  return made;
}

by_category highest_bytes(const allocator_requests& of, std::span<const category> of_block) {
  by_category live{};
  by_category highest{};
  std::vector<std::uint64_t> size(of.blocks);
  for (const request& each : of.requests) {
    if (each.what == request_kind::empty_cache) continue;
    const auto what = static_cast<std::size_t>(of_block[each.block]);
    if (each.what == request_kind::allocate) {
      size[each.block] = each.bytes;
      live[what] += static_cast<double>(each.bytes);
      highest[what] = std::max(highest[what], live[what]);
    } else {
      live[what] -= static_cast<double>(size[each.block]);
    }
  }
  return highest;
}

batch_law law_of(std::span<const batch_point> points) {
  batch_law law;
  const auto count = static_cast<double>(points.size());
  double mean = 0;
  for (const batch_point& each : points) mean += each.batch / count;
  double spread = 0;
  for (const batch_point& each : points) spread += (each.batch - mean) * (each.batch - mean);
  law.fitted = spread > 0;
  for (std::size_t what = 0; what < law.constant.size(); ++what) {
    double bytes = 0;
    double slope = 0;
    for (const batch_point& each : points) bytes += each.bytes[what] / count;
    if (law.fitted) {
      for (const batch_point& each : points) slope += (each.batch - mean) * (each.bytes[what] - bytes) / spread;
      slope = std::max(slope, 0.0);
    } else if (!is_of_model(static_cast<category>(what)) && mean > 0) {
      slope = bytes / mean;
    }
    law.per_batch[what] = slope;
    law.constant[what] = bytes - slope * mean;
  }
  return law;
}

allocator_requests with_batch(const allocator_requests& of, std::span<const category> of_block, const batch_law& law,
                              double from, double to) {
  allocator_requests made = of;
  // Segments of other sizes lie elsewhere.
  made.segment_addresses.clear();
  by_category factor{};
  for (std::size_t what = 0; what < factor.size(); ++what) {
    const double before = law.bytes(static_cast<category>(what), from);
    factor[what] = before > 0 ? law.bytes(static_cast<category>(what), to) / before : 1;
  }
  for (request& each : made.requests) {
    if (each.what != request_kind::allocate) continue;
    const double bytes = static_cast<double>(each.bytes) * factor[static_cast<std::size_t>(of_block[each.block])];
    each.bytes = static_cast<std::uint64_t>(std::llround(std::clamp(bytes, 1.0, most_bytes)));
  }
  return made;
}

std::optional<allocator_requests> with_batch_by_block(const allocator_requests& of, double from,
                                                      std::span<const batch_recording> others, double to) {
  const auto sizes_of = [](const allocator_requests& requests) {
    std::vector<double> sizes;
    for (const request& each : requests.requests)
      if (each.what == request_kind::allocate) sizes.push_back(static_cast<double>(each.bytes));
    return sizes;
  };
  std::vector<double> batches{from};
  std::vector<std::vector<double>> sizes{sizes_of(of)};
  for (const batch_recording& each : others) {
    batches.push_back(each.batch);
    sizes.push_back(sizes_of(*each.requests));
    if (sizes.back().size() != sizes.front().size()) return std::nullopt;
  }
  const auto count = static_cast<double>(batches.size());
  double mean = 0;
  for (const double each : batches) mean += each / count;
  double spread = 0;
  for (const double each : batches) spread += (each - mean) * (each - mean);
  if (spread <= 0) return std::nullopt;
  allocator_requests made = of;
  made.segment_addresses.clear();
  std::size_t at = 0;
  std::size_t shrinking = 0;
  for (request& each : made.requests) {
    if (each.what != request_kind::allocate) continue;
    double bytes = 0;
    double slope = 0;
    for (const auto& of_one : sizes) bytes += of_one[at] / count;
    for (std::size_t i = 0; i < batches.size(); ++i) slope += (batches[i] - mean) * (sizes[i][at] - bytes) / spread;
    ++at;
    if (slope < 0) ++shrinking;
    if (slope <= 0) continue;
    each.bytes = static_cast<std::uint64_t>(std::llround(std::clamp(bytes + slope * (to - mean), 1.0, most_bytes)));
  }
  if (shrinking * 20 > at) return std::nullopt;
  return made;
}

}  // namespace sluice::replay
