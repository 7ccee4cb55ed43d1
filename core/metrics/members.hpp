#pragma once

#include <cstdint>
#include <string_view>
#include <tuple>

#include "core/base/spelling.hpp"
#include "core/metrics/report.hpp"

/// Lists the members of each metrics struct. The lists are used in four places: the metrics stored in a file
/// (core/summary/stored/stored_metrics_format.hpp), the report's JSON (app/cli/output/json_values.hpp), SQL and data
/// sets of Parquet files (core/query/sql/metric_tables.cpp). The names and their order are public:
/// app/cli/report_schema.md lists the names, users write them in queries, and files store the values in this order.
namespace sluice::metrics {

/// The version of the metrics that a file stores. Increase it when a stored member or the meaning of a metric changes.
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
inline constexpr std::uint32_t stored_version = 12;

/// How to interpret a member if its type does not determine this.
enum class meaning : std::uint8_t {
  plain,
  moment,   ///< A time on the recording's clock, not a duration.
  rate,     ///< Bytes per second; 0 if unknown.
  address,  ///< An address, written in hexadecimal in JSON.
  side,     ///< The kind of memory on one side of a copy.
  inlined   ///< A struct whose members appear in place of the struct itself.
};

/// A member of a metrics struct, with its names.
template <auto Member>
struct member {
  static constexpr auto pointer = Member;
  /// The name in JSON. Empty if JSON shows the value elsewhere. SQL uses the name of the C++ member.
  std::string_view name = spelling::of_pointer<Member>();
  std::string_view about{};  ///< Describes the SQL column in one line; empty if SQL has no such column.
  meaning role = meaning::plain;
  std::uint32_t since = 0;  ///< The version of the stored metrics that added the member.
};

/// The member list of a struct, as a tuple of `member`.
template <class Metrics>
constexpr auto get_members() = delete;

template <class Metrics>
concept has_members = requires {
  get_members<Metrics>();
};

#define SLUICE_MEMBERS(type, ...)      \
  template <>                          \
  constexpr auto get_members<type>() { \
    using row = type;                  \
    using enum meaning;                \
    return std::tuple{__VA_ARGS__};    \
  }

SLUICE_MEMBERS(time_range, member<&row::begin>{"begin_ns"}, member<&row::end>{"end_ns"})
SLUICE_MEMBERS(index::memory_key, member<&row::device>(), member<&row::layer>(), member<&row::kind>())

// --- metrics of a range ----------------------------------------------------------------------------------------------

SLUICE_MEMBERS(
    memory_statistics, member<&row::device>{"device", "Null: host memory"},
    member<&row::layer>{
        "layer", "driver, pool, framework or user. A layer's blocks lie in blocks of lower layers: do not add layers"},
    member<&row::kind>{"kind", "The kind of memory"},
    member<&row::at_begin>{"at_begin_bytes",
                           "Bytes in use just before the range begins: at_end + freed_bytes - allocated_bytes"},
    member<&row::at_end>{"at_end_bytes", "Bytes in use just before the range ends"},
    member<&row::minimum>{"minimum_bytes", "Minimum bytes in use"},
    member<&row::maximum>{"maximum_bytes", "Peak bytes in use"},
    member<&row::maximum_time>{"maximum_time_ns", "When the peak was first reached", moment},
    member<&row::mean>{"mean_bytes", "Mean bytes in use over time"},
    member<&row::allocations>{"allocations", "Blocks allocated in the range, without those from before the recording"},
    member<&row::allocated_bytes>{"allocated_bytes", "Total bytes of these allocated blocks"},
    member<&row::frees>{"frees", "Blocks freed in the range"},
    member<&row::freed_bytes>{"freed_bytes", "Total bytes of these freed blocks"})
SLUICE_MEMBERS(untracked_statistics, member<&row::device>(), member<&row::samples>(), member<&row::device_bytes>(),
               member<&row::maximum>{"maximum_bytes"}, member<&row::mean>{"mean_bytes"},
               member<&row::at_end>{"at_end_bytes"}, member<&row::recorder>{"recorder_bytes"},
               member<&row::used_maximum>{"device_used_maximum_bytes"})
SLUICE_MEMBERS(pool_statistics, member<&row::pool>{{}, "The pool"},
               member<&row::states>{"states", "The pool's events in the range"},
               member<&row::reserved_maximum>{"reserved_maximum_bytes", "Maximum bytes reserved"},
               member<&row::reserved_maximum_time>{"reserved_maximum_time_ns", "When that maximum was first reached",
                                                   moment},
               member<&row::reserved_at_end>{"reserved_at_end_bytes", "Bytes reserved at the end"},
               member<&row::used_maximum>{"used_maximum_bytes", "Maximum bytes in use"},
               member<&row::used_maximum_time>{"used_maximum_time_ns", "When that maximum was first reached", moment},
               member<&row::used_at_end>{"used_at_end_bytes", "Bytes in use at the end"},
               member<&row::used_share>{"used_share", "Mean used divided by mean reserved, 0..1"})
SLUICE_MEMBERS(transfer_part, member<&row::host_side>{"host_side", {}, side}, member<&row::count>(),
               member<&row::bytes>(), member<&row::busy>{"busy_ns"},
               member<&row::mean_bandwidth>{"mean_bytes_per_second", {}, rate},
               member<&row::fastest_bandwidth>{"fastest_bytes_per_second", {}, rate})
SLUICE_MEMBERS(transfer_statistics, member<&row::device>{"device", "The device"},
               member<&row::direction>{"direction", "h2d, d2h, d2d, p2p or h2h"},
               member<&row::count>{"count", "Copies and migrations"},
               member<&row::migrations>{"migrations", "The number of migrations in count"},
               member<&row::bytes>{"bytes", "Bytes transferred inside the range"},
               member<&row::busy>{"busy_ns", "ns in which at least one transfer ran"},
               member<&row::total>{"total_ns", "Sum of the transfers' durations, ns"},
               member<&row::mean_bandwidth>{"mean_bytes_per_second", "bytes / busy, in bytes/s", rate},
               member<&row::maximum_bandwidth>{
                   "maximum_bytes_per_second",
                   "Highest bandwidth at any time, in bytes/s; overlapping transfers add up", rate},
               member<&row::fastest_bandwidth>{"fastest_bytes_per_second",
                                               "Highest bandwidth of a single transfer, in bytes/s", rate},
               member<&row::fastest>{"fastest_event", "The transfer with that bandwidth"},
               member<&row::link_peak>{"link_peak_bytes_per_second", "Theoretical bytes/s; null: unknown", rate},
               member<&row::attainable>{"attainable_bytes_per_second", "Measured bytes/s; null: not measured", rate},
               member<&row::parts>())
SLUICE_MEMBERS(device_activity, member<&row::device>{{}, "The device"},
               member<&row::busy>{"busy_ns", "ns with any work: kernel, copy or memset"},
               member<&row::kernels>{"kernels", "Number of kernels"},
               member<&row::kernel_busy>{"kernel_busy_ns", "ns in which at least one kernel ran"},
               member<&row::kernel_total>{"kernel_total_ns", "Sum of kernel durations, ns"},
               member<&row::copy_busy>{"copy_busy_ns", "ns in which copies or migrations ran"},
               member<&row::copy_only>{"copy_only_ns", "ns with a copy but no kernel: the device waited for data"},
               member<&row::overlap>{"overlap_ns", "ns with both a copy and a kernel"},
               member<&row::memsets>{"memsets", "Number of memsets"},
               member<&row::memset_busy>{"memset_busy_ns", "ns in which memsets ran"},
               member<&row::memset_bytes>{"memset_bytes", "Bytes written by memsets"},
               member<&row::first>{{}, "Start of the first work", moment},
               member<&row::last>{{}, "End of the last work", moment})
SLUICE_MEMBERS(named_time, member<&row::name>(), member<&row::count>(), member<&row::total>{"total_ns"},
               member<&row::longest>{"longest_ns"}, member<&row::longest_event>())
SLUICE_MEMBERS(thread_statistics, member<&row::thread>{{}, "The thread"},
               member<&row::process>{{}, "The thread's process"}, member<&row::calls>{"calls", "Number of API calls"},
               member<&row::call_busy>{"call_busy_ns", "ns inside API calls"},
               member<&row::wait_busy>{"wait_busy_ns", "ns waiting for a device"},
               member<&row::file_operations>{"file_operations", "File operations that moved bytes or took time"},
               member<&row::file_bytes>{"file_bytes", "Bytes moved by these operations"},
               member<&row::file_busy>{"file_busy_ns", "ns inside these operations"})

// --- metrics of a report ---------------------------------------------------------------------------------------------

SLUICE_MEMBERS(holder, member<&row::name>(), member<&row::pool>(), member<&row::blocks>(), member<&row::bytes>(),
               member<&row::largest>{"largest_block"}, member<&row::largest_bytes>())
SLUICE_MEMBERS(unfreed_block, member<&row::block>(), member<&row::alloc>{"event"}, member<&row::name>(),
               member<&row::device>(), member<&row::address>{"address", {}, address}, member<&row::bytes>(),
               member<&row::born>{"born_ns"})
SLUICE_MEMBERS(unfreed_group, member<&row::process>(), member<&row::process_ended>(), member<&row::keeps_growing>(),
               member<&row::layer>(), member<&row::kind>(), member<&row::count>(), member<&row::bytes>(),
               member<&row::largest>())
SLUICE_MEMBERS(index::imported_memory, member<&row::process>(), member<&row::owner>(),
               member<&row::inferred>{"owner_inferred"}, member<&row::layer>(), member<&row::kind>(),
               member<&row::blocks>(), member<&row::bytes>())
SLUICE_MEMBERS(failed_allocation, member<&row::event>{"event", "The failed call"},
               member<&row::time>{"time_ns", "Time when it returned", moment},
               member<&row::process>{"process", "Whose"}, member<&row::device>{"device", "Null: host memory"},
               member<&row::layer>{"layer", "driver, pool, framework or user"},
               member<&row::kind>{"kind", "The kind of memory"}, member<&row::call>{"call", "The API function"},
               member<&row::bytes>{"bytes", "Requested size"}, member<&row::error>{"error", "The API's code"})
SLUICE_MEMBERS(allocation_retry, member<&row::event>{"event", "The call that failed"},
               member<&row::block>{"block", "The block that the later call got"},
               member<&row::time>{"time_ns", "Time when the failed call returned", moment},
               member<&row::until>{"until_ns", "Time when the successful one returned", moment},
               member<&row::process>{"process", "The process"},
               member<&row::device>{"device", "The device; null: host memory"},
               member<&row::layer>{"layer", "driver or pool"}, member<&row::kind>{"kind", "The kind of memory"},
               member<&row::call>{"call", "The API function"}, member<&row::bytes>{"bytes", "Requested size"})
SLUICE_MEMBERS(allocation_retries, member<&row::count>(), member<&row::total>{"total_ns"},
               member<&row::reported_again>(), member<&row::first>())
SLUICE_MEMBERS(index::fault_launch, member<&row::time>{"time_ns"}, member<&row::kernel>(), member<&row::stream>())
SLUICE_MEMBERS(fragmentation_metric, member<&row::device>(), member<&row::layer>(), member<&row::time>{"time_ns"},
               member<&row::segments>(), member<&row::segment_bytes>(), member<&row::free_bytes>(),
               member<&row::largest_free>{"largest_free_bytes"}, member<&row::fragmentation>())
SLUICE_MEMBERS(category_share, member<&row::category>{"category"}, member<&row::bytes>(), member<&row::blocks>(),
               member<&row::exact_bytes>())
SLUICE_MEMBERS(peak_composition, member<&row::device>(), member<&row::layer>(), member<&row::kind>(),
               member<&row::bytes>(), member<&row::time>{"time_ns"}, member<&row::kept_gradient_bytes>(),
               member<&row::shares>())
SLUICE_MEMBERS(held_by_stack, member<&row::stack>(), member<&row::bytes>(), member<&row::category>{"category"},
               member<&row::blocks>())
SLUICE_MEMBERS(kernel_total, member<&row::name>(), member<&row::total>{"total_ns"})
SLUICE_MEMBERS(
    rank_metrics, member<&row::process>{"process", "The process"},
    member<&row::rank>{"rank", "Rank set by torchrun, mpirun or similar"},
    member<&row::device>{"device", "The device of the memory"},
    member<&row::layer>{"layer", "The highest layer in which the rank has device memory"},
    member<&row::kind>{"kind", "The kind of memory"},
    member<&row::peak>{"maximum_bytes", "The rank's peak use of this memory, in bytes"},
    member<&row::peak_time>{"maximum_time_ns", "When the peak was first reached", moment},
    member<&row::reserved>{"reserved_at_maximum_bytes",
                           "Bytes that the layer held for the rank at the peak; 0: unknown"},
    member<&row::untracked>{"untracked_maximum_bytes", "Maximum untracked bytes on the device; 0: unknown"},
    member<&row::steps>{"steps", "Number of training steps"},
    member<&row::median_step>{"median_step_ns", "Median step duration, ns"},
    member<&row::computing>{"computing_ns", "Total duration of kernels other than collectives, ns"},
    member<&row::collectives>{"collectives", "Number of NCCL kernels"},
    member<&row::collective_time>{"collective_ns", "Total duration of NCCL kernels, ns"},
    member<&row::waiting>{"waiting_ns",
                          "Part of collective_time: in each collective, the time beyond the shortest on any rank"},
    member<&row::waiting_rarely>{
        "waiting_rarely_ns",
        "Part of waiting: waits of a length that occurs fewer than 4 times, such as for connecting", plain, 9},
    member<&row::awaited>{
        "awaited_ns",
        "How long other ranks waited in collectives for this rank, the last to start, ns summed over them", plain, 11},
    member<&row::awaited_host>{
        "awaited_host_ns",
        "Part of awaited: waits of 1 ms or more before which the GPU had no work, as its host was late", plain, 11},
    member<&row::reductions>{"all_reduces", "Number of all-reduces among the collectives"},
    member<&row::gathers>{"gathers", "Number of all-gathers and reduce-scatters among the collectives"},
    member<&row::shares>{"shares"}, member<&row::held>{"held"}, member<&row::kernels>{"kernels"})
SLUICE_MEMBERS(waste_metrics, member<&row::idle>{{}}, member<&row::growing>{{}}, member<&row::dead_writes>{{}},
               member<&row::gaps>{{}}, member<&row::driver_calls>{{}}, member<&row::copies>{{}},
               member<&row::caches>{{}}, member<&row::ranks>{{}}, member<&row::replays>{{}}, member<&row::twice>{{}},
               member<&row::forced>{{}}, member<&row::products>{{}, {}, plain, 11},
               member<&row::idle_times>{{}, {}, plain, 11})
SLUICE_MEMBERS(step_metrics, member<&row::number>(), member<&row::span>{"span", {}, inlined}, member<&row::event>(),
               member<&row::peak>{"maximum_bytes"}, member<&row::peak_time>{"maximum_time_ns"},
               member<&row::at_begin>{"at_begin_bytes"}, member<&row::at_end>{"at_end_bytes"},
               member<&row::allocations>(), member<&row::allocated_bytes>(), member<&row::h2d_bytes>(),
               member<&row::d2h_bytes>())
SLUICE_MEMBERS(copy_metrics, member<&row::copies>{"count"}, member<&row::bytes>(), member<&row::busy>{"busy_ns"})
SLUICE_MEMBERS(repeat_metrics, member<&row::all>{"all", {}, inlined}, member<&row::same_source>(),
               member<&row::same_destination>(), member<&row::exact>())
SLUICE_MEMBERS(memory_at_mark, member<&row::memory>{"of", {}, inlined}, member<&row::bytes>(), member<&row::blocks>(),
               member<&row::segment_bytes>())
SLUICE_MEMBERS(pool_at_mark, member<&row::pool>(), member<&row::reserved>{"reserved_bytes"},
               member<&row::used>{"used_bytes"})

#undef SLUICE_MEMBERS

}  // namespace sluice::metrics
