#pragma once

#include <algorithm>
#include <cstdint>
#include <tuple>

#include "core/metrics/base/member_list.hpp"
#include "core/metrics/report/report.hpp"

/// All lists of members of metrics (core/metrics/base/member_list.hpp), and the version of the metrics that a file
/// stores.
namespace sluice::metrics {

SLUICE_MEMBERS(index::memory_key, member<&row::device>(), member<&row::layer>(), member<&row::kind>())
SLUICE_MEMBERS(index::imported_memory, member<&row::process>(), member<&row::owner>(),
               member<&row::inferred>{"owner_inferred", {}, plain, 0, 6}, member<&row::layer>{"layer", {}, plain, 0, 2},
               member<&row::kind>{"kind", {}, plain, 0, 3}, member<&row::blocks>{"blocks", {}, plain, 0, 4},
               member<&row::bytes>{"bytes", {}, plain, 0, 5})
SLUICE_MEMBERS(index::fault_launch, member<&row::time>{"time_ns"}, member<&row::kernel>(), member<&row::stream>())

/// The structs that have a list.
template <class... Structs>
struct struct_list {};
using listed_structs =
    struct_list<time_range, index::memory_key, memory_statistics, untracked_statistics, pool_statistics, transfer_part,
                transfer_statistics, device_activity, named_time, thread_statistics, holder, unfreed_block,
                unfreed_group, index::imported_memory, failed_allocation, allocation_retry, allocation_retries,
                index::fault_launch, fragmentation_metric, category_share, peak_composition, held_by_stack,
                kernel_total, rank_metrics, waste_metrics, step_metrics, copy_metrics, repeat_metrics, memory_at_mark,
                pool_at_mark, range_statistics>;

/// The version of the layout and of the meaning of the metrics that a file stores, apart from members that lists have
/// added since (`member::since`). Increase it when the meaning of a metric or a struct without a list changes.
///
/// - Version 4 added the data about waste that findings need.
/// - Version 5 added the contents of copies to the host, copies of zeros, the report on an allocation that failed for
///   lack of memory, and the memory that an allocator would have reserved under other settings.
/// - Version 6 added the largest blocks of each layer with their uses, the needs of ranks, tensors held in two types,
///   growth forced by fragmentation, and the ranges that contain gaps.
/// - Version 7 added gaps caused by locks, and measures idleness by the work of the block's own process.
/// - Version 8 added allocations by module hooks to the reasons for categories.
/// - Version 9 added the time that ranks spend in rare waits.
/// - Version 10 distinguishes library workspaces from gradients, and does not count memory as growing if the program
///   frees it while it continues to run.
/// - Version 11 added the matrix products in FP32 and the waits that each rank makes. It gives every ns of idle time a
///   cause, and sums them up by device.
/// - Version 12 added what PyTorch could have released when another caller's request failed.
/// - Version 13 added what all idle blocks of one reason and category would save together.
inline constexpr std::uint32_t base_version = 13;

/// Returns the highest `member::since` in the list of a struct.
template <class Metrics>
constexpr std::uint32_t find_newest() {
  return std::apply(
      [](const auto&... each) {
        return std::max({std::uint32_t{0}, each.since...});
      },
      get_members<Metrics>());
}

/// The version of the metrics that a file stores. A new member of a list increases it by its `since`.
inline constexpr std::uint32_t stored_version = []<class... Structs>(struct_list<Structs...>) {
  return std::max({base_version, find_newest<Structs>()...});
}(listed_structs{});

}  // namespace sluice::metrics
