#include "core/replay/allocator_rules.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace sluice::replay {
namespace {

/// Larger requests are treated as having this size, which exceeds any real memory but fits in a model's address space.
constexpr std::uint64_t largest_rounded = std::uint64_t{1} << 46;

/// The assumed mapping granularity of the driver's pool, in bytes. NVIDIA does not document it. The value fits one
/// measurement on an H200, where a peak of 814 MiB reserved 832 MiB.
constexpr std::uint64_t driver_pool_step = 32 * mib;
/// The minimum growth of Sluice's pool (`pool_options::growth_bytes`), which is also its page size: see
/// instrumentation/runtime.
constexpr std::uint64_t sluice_growth = 32 * mib;
constexpr std::uint64_t sluice_page = 2 * mib;

std::uint64_t to_smallest_block(std::uint64_t bytes) {
  return (std::max<std::uint64_t>(bytes, 1) + smallest_block - 1) / smallest_block * smallest_block;
}

/// Rounds up to one of eight size classes per power of two, as in Sluice's pool
/// (instrumentation/runtime/pool/pool_heap.hpp).
std::uint64_t to_sluice_class(std::uint64_t bytes) {
  const std::uint64_t granules = to_smallest_block(bytes) / smallest_block;
  if (granules < 8) return granules * smallest_block;
  const std::uint64_t step = std::bit_floor(granules) / 8;
  return (granules + step - 1) / step * step * smallest_block;
}

/// Rounds up as roundup_power2_divisions does: to the next of the equal steps between two powers of two.
std::uint64_t to_division(std::uint64_t bytes, std::uint64_t divisions) {
  if (std::has_single_bit(bytes)) return bytes;
  const std::uint64_t floor = std::bit_floor(bytes);
  const std::uint64_t step = floor / std::bit_floor(divisions);
  return step == 0 ? floor * 2 : (bytes + step - 1) / step * step;
}

}  // namespace

std::uint64_t block_size(const policy& by, std::uint64_t bytes) {
  if (bytes > largest_rounded) return largest_rounded;
  if (by.by == policy::model::sluice) return to_sluice_class(bytes);
  if (by.by != policy::model::caching || bytes < smallest_block) return to_smallest_block(bytes);
  const int power = static_cast<int>(std::bit_width(bytes)) - 1 - 20;  // The first entry is for sizes up to 2 MiB.
  const std::uint64_t divisions = by.divisions[static_cast<std::size_t>(std::clamp(power, 0, 15))];
  if (divisions > 1 && bytes > smallest_block * divisions) return to_division(bytes, divisions);
  return to_smallest_block(bytes);
}

allocator_rules rules_for(const policy& by, const allocator_requests& requests) {
  allocator_rules rules;
  rules.by = by;
  if (requests.limit != 0) rules.limit = requests.limit;
  rules.limit_set = requests.limit_inferred;
  if (by.memory_fraction > 0 && requests.device_bytes > 0) {
    rules.limit = static_cast<std::uint64_t>(by.memory_fraction * static_cast<double>(requests.device_bytes));
    rules.limit_set = true;
  }
  if (by.by == policy::model::caching) {
    rules.mapped = by.expandable;
    return rules;
  }
  rules.mapped = true;
  rules.two_classes = false;
  rules.arenas = false;
  rules.limit_by_segment = false;
  const bool sluice = by.by == policy::model::sluice;
  const std::uint64_t page = by.by == policy::model::async ? driver_pool_step : sluice ? sluice_page : smallest_block;
  rules.small_page = page;
  rules.large_page = page;
  if (sluice) rules.min_growth = sluice_growth;
  if (by.by == policy::model::best_fit) rules.limit = no_limit;
  return rules;
}

}  // namespace sluice::replay
