#pragma once

#include <cstdint>
#include <string_view>
#include <tuple>

#include "core/base/spelling.hpp"
#include "core/metrics/report.hpp"

/// Lists the members of each metrics struct. The lists are used in three places: the metrics stored in a file
/// (core/summary/metrics/stored_metrics_format.hpp), the report's JSON (app/cli/json_values.hpp) and SQL
/// (core/query/sql/metric_tables.cpp). Names and order are public: app/cli/report_schema.md lists them, users write
/// them in queries, and files store the values in this order.
namespace sluice::metrics {

/// How to interpret a member whose type does not say.
enum class meaning : std::uint8_t {
  plain,
  moment,   ///< A time on the recording's clock, not a duration.
  rate,     ///< Bytes per second; 0 if unknown.
  address,  ///< An address, written in hexadecimal in JSON.
  side,     ///< The kind of memory on one side of a copy.
  inlined   ///< A struct whose members appear in place of the struct itself.
};

template <auto Member>
struct member {
  static constexpr auto pointer = Member;
  /// The name in JSON; empty if JSON shows the value elsewhere. SQL uses the name of the C++ member.
  std::string_view name = spelling::of_pointer<Member>();
  std::string_view about{};  ///< Describes the SQL column in one line; empty if SQL has no such column.
  meaning is = meaning::plain;
};

/// The member list of a struct, as a tuple of `member`.
template <class Metrics>
constexpr auto members_of() = delete;

template <class Metrics>
concept has_members = requires {
  members_of<Metrics>();
};

#define SLUICE_MEMBERS(type, ...)     \
  template <>                         \
  constexpr auto members_of<type>() { \
    using of = type;                  \
    using enum meaning;               \
    return std::tuple{__VA_ARGS__};   \
  }

SLUICE_MEMBERS(time_range, member<&of::begin>{"begin_ns"}, member<&of::end>{"end_ns"})
SLUICE_MEMBERS(index::memory_key, member<&of::device>(), member<&of::layer>(), member<&of::kind>())

// --- metrics of a range ----------------------------------------------------------------------------------------------

SLUICE_MEMBERS(
    memory_statistics, member<&of::device>{"device", "Null: host memory"},
    member<&of::layer>{"layer", "driver, pool, framework or user. Layers contain one another: never add two"},
    member<&of::kind>{"kind", "The kind of memory"},
    member<&of::at_begin>{"at_begin_bytes",
                          "Bytes in use just before the range begins: at_end + freed_bytes - allocated_bytes"},
    member<&of::at_end>{"at_end_bytes", "Bytes in use just before the range ends"},
    member<&of::minimum>{"minimum_bytes", "Minimum bytes in use"},
    member<&of::maximum>{"maximum_bytes", "Peak bytes in use"},
    member<&of::maximum_time>{"maximum_time_ns", "When the peak was first reached", moment},
    member<&of::mean>{"mean_bytes", "Mean bytes in use over time"},
    member<&of::allocations>{"allocations", "Blocks allocated in the range, without those from before the recording"},
    member<&of::allocated_bytes>{"allocated_bytes", "Their total size in bytes"},
    member<&of::frees>{"frees", "Blocks freed in the range"},
    member<&of::freed_bytes>{"freed_bytes", "Their total size in bytes"})
SLUICE_MEMBERS(untracked_statistics, member<&of::device>(), member<&of::samples>(), member<&of::device_bytes>(),
               member<&of::maximum>{"maximum_bytes"}, member<&of::mean>{"mean_bytes"},
               member<&of::at_end>{"at_end_bytes"}, member<&of::recorder>{"recorder_bytes"},
               member<&of::used_maximum>{"device_used_maximum_bytes"})
SLUICE_MEMBERS(pool_statistics, member<&of::pool>{{}, "The pool"},
               member<&of::states>{"states", "The pool's events in the range"},
               member<&of::reserved_maximum>{"reserved_maximum_bytes", "Maximum bytes reserved"},
               member<&of::reserved_maximum_time>{"reserved_maximum_time_ns", "When that was first reached", moment},
               member<&of::reserved_at_end>{"reserved_at_end_bytes", "Bytes reserved at the end"},
               member<&of::used_maximum>{"used_maximum_bytes", "Maximum bytes in use"},
               member<&of::used_maximum_time>{"used_maximum_time_ns", "When that was first reached", moment},
               member<&of::used_at_end>{"used_at_end_bytes", "Bytes in use at the end"},
               member<&of::used_share>{"used_share", "Mean used divided by mean reserved, 0..1"})
SLUICE_MEMBERS(transfer_part, member<&of::host_side>{"host_side", {}, side}, member<&of::count>(), member<&of::bytes>(),
               member<&of::busy>{"busy_ns"}, member<&of::mean_bandwidth>{"mean_bytes_per_second", {}, rate},
               member<&of::fastest_bandwidth>{"fastest_bytes_per_second", {}, rate})
SLUICE_MEMBERS(transfer_statistics, member<&of::device>{"device", "The device"},
               member<&of::direction>{"direction", "h2d, d2h, d2d, p2p or h2h"},
               member<&of::count>{"count", "Copies and migrations"},
               member<&of::migrations>{"migrations", "How many of these are migrations"},
               member<&of::bytes>{"bytes", "Bytes transferred inside the range"},
               member<&of::busy>{"busy_ns", "ns in which at least one ran"},
               member<&of::total>{"total_ns", "Sum of their durations, ns"},
               member<&of::mean_bandwidth>{"mean_bytes_per_second", "bytes / busy, in bytes/s", rate},
               member<&of::maximum_bandwidth>{"maximum_bytes_per_second",
                                              "Highest bandwidth at any time, in bytes/s; overlapping transfers add up",
                                              rate},
               member<&of::fastest_bandwidth>{"fastest_bytes_per_second",
                                              "Highest bandwidth of a single transfer, in bytes/s", rate},
               member<&of::fastest>{"fastest_event", "That transfer"},
               member<&of::link_peak>{"link_peak_bytes_per_second", "Theoretical bytes/s; null: unknown", rate},
               member<&of::attainable>{"attainable_bytes_per_second", "Measured bytes/s; null: not measured", rate},
               member<&of::parts>())
SLUICE_MEMBERS(device_activity, member<&of::device>{{}, "The device"},
               member<&of::busy>{"busy_ns", "ns with any work: kernel, copy or memset"},
               member<&of::kernels>{"kernels", "Number of kernels"},
               member<&of::kernel_busy>{"kernel_busy_ns", "ns in which at least one kernel ran"},
               member<&of::kernel_total>{"kernel_total_ns", "Sum of kernel durations, ns"},
               member<&of::copy_busy>{"copy_busy_ns", "ns in which copies or migrations ran"},
               member<&of::copy_only>{"copy_only_ns", "ns with a copy but no kernel: the device waited for data"},
               member<&of::overlap>{"overlap_ns", "ns with both a copy and a kernel"},
               member<&of::memsets>{"memsets", "Number of memsets"},
               member<&of::memset_busy>{"memset_busy_ns", "ns in which memsets ran"},
               member<&of::memset_bytes>{"memset_bytes", "Bytes written by memsets"},
               member<&of::first>{{}, "Start of the first work", moment},
               member<&of::last>{{}, "End of the last work", moment})
SLUICE_MEMBERS(named_time, member<&of::name>(), member<&of::count>(), member<&of::total>{"total_ns"},
               member<&of::longest>{"longest_ns"}, member<&of::longest_event>())
SLUICE_MEMBERS(thread_statistics, member<&of::thread>{{}, "The thread"},
               member<&of::process>{{}, "The thread's process"}, member<&of::calls>{"calls", "Number of API calls"},
               member<&of::call_busy>{"call_busy_ns", "ns inside API calls"},
               member<&of::wait_busy>{"wait_busy_ns", "ns waiting for a device"},
               member<&of::file_operations>{"file_operations", "File operations that moved bytes or took time"},
               member<&of::file_bytes>{"file_bytes", "Bytes moved by these operations"},
               member<&of::file_busy>{"file_busy_ns", "ns inside these operations"})

// --- metrics of a report ---------------------------------------------------------------------------------------------

SLUICE_MEMBERS(holder, member<&of::name>(), member<&of::pool>(), member<&of::blocks>(), member<&of::bytes>(),
               member<&of::largest>{"largest_block"}, member<&of::largest_bytes>())
SLUICE_MEMBERS(unfreed_block, member<&of::block>(), member<&of::alloc>{"event"}, member<&of::name>(),
               member<&of::device>(), member<&of::address>{"address", {}, address}, member<&of::bytes>(),
               member<&of::born>{"born_ns"})
SLUICE_MEMBERS(unfreed_group, member<&of::process>(), member<&of::process_ended>(), member<&of::keeps_growing>(),
               member<&of::layer>(), member<&of::kind>(), member<&of::count>(), member<&of::bytes>(),
               member<&of::largest>())
SLUICE_MEMBERS(index::imported_memory, member<&of::process>(), member<&of::owner>(),
               member<&of::inferred>{"owner_inferred"}, member<&of::layer>(), member<&of::kind>(),
               member<&of::blocks>(), member<&of::bytes>())
SLUICE_MEMBERS(failed_allocation, member<&of::event>(), member<&of::time>{"time_ns"}, member<&of::process>(),
               member<&of::device>(), member<&of::layer>(), member<&of::kind>(), member<&of::call>(),
               member<&of::bytes>(), member<&of::error>())
SLUICE_MEMBERS(index::fault_launch, member<&of::time>{"time_ns"}, member<&of::kernel>(), member<&of::stream>())
SLUICE_MEMBERS(fragmentation_metric, member<&of::device>(), member<&of::layer>(), member<&of::time>{"time_ns"},
               member<&of::segments>(), member<&of::segment_bytes>(), member<&of::free_bytes>(),
               member<&of::largest_free>{"largest_free_bytes"}, member<&of::fragmentation>())
SLUICE_MEMBERS(category_share, member<&of::what>{"category"}, member<&of::bytes>(), member<&of::blocks>(),
               member<&of::exact_bytes>())
SLUICE_MEMBERS(peak_composition, member<&of::device>(), member<&of::layer>(), member<&of::kind>(), member<&of::bytes>(),
               member<&of::time>{"time_ns"}, member<&of::kept_gradient_bytes>(), member<&of::shares>())
SLUICE_MEMBERS(held_by_stack, member<&of::stack>(), member<&of::bytes>(), member<&of::what>{"category"},
               member<&of::blocks>())
SLUICE_MEMBERS(kernel_total, member<&of::name>(), member<&of::total>{"total_ns"})
SLUICE_MEMBERS(
    rank_metrics, member<&of::process>{"process", "The process"},
    member<&of::rank>{"rank", "Rank set by torchrun, mpirun or similar"},
    member<&of::device>{"device", "The device of the memory"},
    member<&of::layer>{"layer", "The highest layer in which the rank has device memory"},
    member<&of::kind>{"kind", "The kind of memory"},
    member<&of::peak>{"maximum_bytes", "The rank's peak use of this memory, in bytes"},
    member<&of::peak_time>{"maximum_time_ns", "When the peak was first reached", moment},
    member<&of::reserved>{"reserved_at_maximum_bytes", "Bytes that the layer held for the rank then; 0: unknown"},
    member<&of::untracked>{"untracked_maximum_bytes", "Maximum untracked bytes on the device; 0: unknown"},
    member<&of::steps>{"steps", "Number of training steps"},
    member<&of::median_step>{"median_step_ns", "Median step duration, ns"},
    member<&of::computing>{"computing_ns", "Total duration of kernels other than collectives, ns"},
    member<&of::collectives>{"collectives", "Number of NCCL kernels"},
    member<&of::collective_time>{"collective_ns", "Total duration of NCCL kernels, ns"},
    member<&of::waiting>{"waiting_ns", "Part of that in excess of the shortest on any rank, for each collective"},
    member<&of::waiting_rarely>{"waiting_rarely_ns",
                                "Part of that in waits of a length that occurs fewer than 4 times, as for connecting"},
    member<&of::reductions>{"all_reduces", "Number of all-reduces among the collectives"},
    member<&of::gathers>{"gathers", "Number of all-gathers and reduce-scatters among the collectives"},
    member<&of::shares>{"shares"}, member<&of::held>{"held"}, member<&of::kernels>{"kernels"})
SLUICE_MEMBERS(step_metrics, member<&of::number>(), member<&of::span>{"span", {}, inlined}, member<&of::event>(),
               member<&of::peak>{"maximum_bytes"}, member<&of::peak_time>{"maximum_time_ns"},
               member<&of::at_begin>{"at_begin_bytes"}, member<&of::at_end>{"at_end_bytes"}, member<&of::allocations>(),
               member<&of::allocated_bytes>(), member<&of::h2d_bytes>(), member<&of::d2h_bytes>())
SLUICE_MEMBERS(copy_metrics, member<&of::copies>{"count"}, member<&of::bytes>(), member<&of::busy>{"busy_ns"})
SLUICE_MEMBERS(repeat_metrics, member<&of::all>{"all", {}, inlined}, member<&of::same_source>(),
               member<&of::same_destination>(), member<&of::exact>())
SLUICE_MEMBERS(memory_at_mark, member<&of::of>{"of", {}, inlined}, member<&of::bytes>(), member<&of::blocks>(),
               member<&of::segment_bytes>())
SLUICE_MEMBERS(pool_at_mark, member<&of::pool>(), member<&of::reserved>{"reserved_bytes"},
               member<&of::used>{"used_bytes"})

#undef SLUICE_MEMBERS

}  // namespace sluice::metrics
