#pragma once

#include <vector>

#include "core/metrics/base/member_list.hpp"
#include "core/metrics/idle/idle_gaps.hpp"
#include "core/metrics/report/waste/dead_writes.hpp"
#include "core/metrics/report/waste/fp32_products.hpp"
#include "core/metrics/report/waste/growth.hpp"
#include "core/metrics/report/waste/held_twice.hpp"
#include "core/metrics/report/waste/idle_memory.hpp"
#include "core/metrics/report/waste/ranks.hpp"
#include "core/metrics/report/waste/reserved.hpp"
#include "core/metrics/report/waste/transfers.hpp"

/// What findings about waste need.
namespace sluice::metrics {

/// The waste that findings report, grouped by call stack, before stacks are resolved to lines.
struct waste_metrics {
  /// Sorted by device, layer and kind; empty if no touches were recorded.
  std::vector<idle_memory> idle;
  std::vector<growing_group> growing;           ///< Most bytes first.
  std::vector<dead_write_group> dead_writes;    ///< Most bytes first.
  std::vector<gap_group> gaps;                  ///< Sorted by `total`, longest first.
  std::vector<driver_call_group> driver_calls;  ///< Sorted by `total`, longest first.
  std::vector<copy_group> copies;               ///< Sorted by `alone`, longest first.
  std::vector<cache_use> caches;                ///< Sorted by pool and device.
  std::vector<rank_metrics> ranks;              ///< Sorted by rank; empty unless several processes have a rank.
  std::vector<reserved_replay> replays;         ///< Sorted by device; only for PyTorch's native allocator.
  std::vector<held_twice> twice;                ///< Most bytes first; empty if no touches were recorded.
  std::vector<forced_growths> forced;           ///< Sorted by device; only for PyTorch's allocator.
  std::vector<fp32_products> products;          ///< Sorted by process and device; empty if there are none.
  std::vector<device_idle> idle_times;          ///< Sorted by device; only devices that ran kernels.
};
SLUICE_MEMBERS(waste_metrics, member<&row::idle>{{}}, member<&row::growing>{{}}, member<&row::dead_writes>{{}},
               member<&row::gaps>{{}}, member<&row::driver_calls>{{}}, member<&row::copies>{{}},
               member<&row::caches>{{}}, member<&row::ranks>{{}}, member<&row::replays>{{}}, member<&row::twice>{{}},
               member<&row::forced>{{}}, member<&row::products>{{}, {}, plain, 11},
               member<&row::idle_times>{{}, {}, plain, 11})

}  // namespace sluice::metrics
