#pragma once

#include <array>
#include <cstdint>

#include "core/trace/model/kinds.hpp"

/// The enums of Nsight Systems exports. Private to core/import.
namespace sluice::importing::nsys_enums {

/// Converts a value of CUDA_MEMOPR_MEMORY_KIND.
inline trace::memory_kind get_kind(std::int64_t number) {
  using enum trace::memory_kind;
  static constexpr std::array kinds = {host, pinned, device, array, managed, device, managed};
  return number < 0 || number >= static_cast<std::int64_t>(kinds.size()) ? unknown
                                                                         : kinds[static_cast<std::size_t>(number)];
}

/// Converts a value of CUpti_ActivityMemcpyKind, or a value that nsys adds for managed memory.
inline trace::direction get_direction(std::int64_t number) {
  using enum trace::direction;
  static constexpr std::array ways = {unknown, h2d, d2h, h2d, d2h, d2d, d2d, d2d, d2d, h2h, p2p, h2d, d2h, d2d};
  return number < 0 || number >= static_cast<std::int64_t>(ways.size()) ? unknown
                                                                        : ways[static_cast<std::size_t>(number)];
}
inline constexpr std::int64_t first_managed_copy = 11;

inline trace::migration_cause get_cause(std::int64_t number) {
  using enum trace::migration_cause;
  static constexpr std::array causes = {unknown, prefetch, page_fault, prefetch, eviction, access_counter};
  return number < 0 || number >= static_cast<std::int64_t>(causes.size()) ? unknown
                                                                          : causes[static_cast<std::size_t>(number)];
}

/// Values of NVTX_EVENTS.eventType.
enum nvtx_type : std::int64_t {
  category_name = 33,
  mark = 34,
  thread_name = 39,
  push_pop = 59,
  start_end = 60,
  mark_with_time = 65,
  push_pop_with_time = 70,
  start_end_with_time = 71,
  domain_name = 75
};

}  // namespace sluice::importing::nsys_enums
