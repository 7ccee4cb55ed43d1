#pragma once

#include <cstdint>
#include <string_view>
#include <tuple>

#include "core/base/spelling.hpp"
#include "core/figures/report.hpp"

/// One list of members for each struct of figures. Three places walk it: the stored figures of a file
/// (core/summary/figures/stored_figures_format.hpp), the report's JSON (app/cli/json_values.hpp) and SQL
/// (core/query/sql/figure_tables.cpp). The order and the names are public: app/cli/report_schema.md lists them, people
/// write them in queries, and the bytes of a file are in this order.
namespace sluice::analysis {

/// What a member is, where its type does not tell.
enum class meaning : std::uint8_t {
  plain,
  moment,   ///< A time on the recording's clock, not a duration.
  rate,     ///< Bytes per second; 0: unknown.
  address,  ///< Hexadecimal in JSON.
  side,     ///< A kind of memory as one side of a copy.
  inlined   ///< A struct whose members stand in its place.
};

template <auto Member>
struct member {
  static constexpr auto pointer = Member;
  /// The name in JSON; empty if JSON has the value elsewhere. SQL uses the name of the C++ member.
  std::string_view name = spelling::of_pointer<Member>();
  std::string_view about{};  ///< Describes SQL's column, in one line; empty: no column.
  meaning is = meaning::plain;
};

/// The list of a struct: a tuple of `member`.
template <class Figures>
constexpr auto members_of() = delete;

template <class Figures>
concept has_members = requires {
  members_of<Figures>();
};

#define SLUICE_MEMBERS(type, ...)     \
  template <>                         \
  constexpr auto members_of<type>() { \
    using of = type;                  \
    using enum meaning;               \
    return std::tuple{__VA_ARGS__};   \
  }

SLUICE_MEMBERS(time_range, member<&of::begin>{"begin_ns"}, member<&of::end>{"end_ns"})
SLUICE_MEMBERS(memory_key, member<&of::device>(), member<&of::layer>(), member<&of::kind>())

// --- figures of a range ----------------------------------------------------------------------------------------------

SLUICE_MEMBERS(
    memory_statistics, member<&of::device>{"device", "Null: host memory"},
    member<&of::layer>{"layer", "driver, pool, framework or user. Layers hold one another: never add two"},
    member<&of::kind>{"kind", "The kind of memory"},
    member<&of::at_begin>{"at_begin_bytes",
                          "Bytes in use just before the range begins: at_end + freed_bytes - allocated_bytes"},
    member<&of::at_end>{"at_end_bytes", "Bytes in use just before its end"},
    member<&of::minimum>{"minimum_bytes", "Bytes"}, member<&of::maximum>{"maximum_bytes", "The peak, in bytes"},
    member<&of::maximum_time>{"maximum_time_ns", "When it was first reached", moment},
    member<&of::mean>{"mean_bytes", "Bytes, over time"},
    member<&of::allocations>{"allocations", "Blocks born in the range; those from before the recording do not count"},
    member<&of::allocated_bytes>{"allocated_bytes", "Theirs"},
    member<&of::frees>{"frees", "Blocks that died in the range"}, member<&of::freed_bytes>{"freed_bytes", "Theirs"})
SLUICE_MEMBERS(untracked_statistics, member<&of::device>(), member<&of::samples>(), member<&of::device_bytes>(),
               member<&of::maximum>{"maximum_bytes"}, member<&of::mean>{"mean_bytes"},
               member<&of::at_end>{"at_end_bytes"}, member<&of::recorder>{"recorder_bytes"},
               member<&of::used_maximum>{"device_used_maximum_bytes"})
SLUICE_MEMBERS(pool_statistics, member<&of::pool>{{}, "The pool"},
               member<&of::states>{"states", "Its events in the range"},
               member<&of::reserved_maximum>{"reserved_maximum_bytes", "Most bytes it held"},
               member<&of::reserved_maximum_time>{"reserved_maximum_time_ns", "When first", moment},
               member<&of::reserved_at_end>{"reserved_at_end_bytes", "Bytes it held at the end"},
               member<&of::used_maximum>{"used_maximum_bytes", "Most bytes it had given out"},
               member<&of::used_maximum_time>{"used_maximum_time_ns", "When first", moment},
               member<&of::used_at_end>{"used_at_end_bytes", "Bytes it had given out at the end"},
               member<&of::used_share>{"used_share", "Mean used over mean reserved, 0..1"})
SLUICE_MEMBERS(transfer_part, member<&of::host_side>{"host_side", {}, side}, member<&of::count>(), member<&of::bytes>(),
               member<&of::busy>{"busy_ns"}, member<&of::mean_bandwidth>{"mean_bytes_per_second", {}, rate},
               member<&of::fastest_bandwidth>{"fastest_bytes_per_second", {}, rate})
SLUICE_MEMBERS(transfer_statistics, member<&of::device>{"device", "The device"},
               member<&of::direction>{"direction", "h2d, d2h, d2d, p2p or h2h"},
               member<&of::count>{"count", "Copies and migrations"}, member<&of::migrations>{"migrations", "Of those"},
               member<&of::bytes>{"bytes", "Those inside the range"},
               member<&of::busy>{"busy_ns", "ns in which at least one ran"},
               member<&of::total>{"total_ns", "Sum of their lengths, ns"},
               member<&of::mean_bandwidth>{"mean_bytes_per_second", "bytes / busy, in bytes/s", rate},
               member<&of::maximum_bandwidth>{"maximum_bytes_per_second",
                                              "Of the curve over time, in bytes/s: those that overlap add up", rate},
               member<&of::fastest_bandwidth>{"fastest_bytes_per_second", "Of one transfer, in bytes/s", rate},
               member<&of::fastest>{"fastest_event", "That transfer"},
               member<&of::link_peak>{"link_peak_bytes_per_second", "Theoretical bytes/s; null: not known", rate},
               member<&of::attainable>{"attainable_bytes_per_second", "Measured bytes/s; null: never measured", rate},
               member<&of::parts>())
SLUICE_MEMBERS(
    device_activity, member<&of::device>{{}, "The device"},
    member<&of::busy>{"busy_ns", "ns in which anything ran: kernel, copy, memset"},
    member<&of::kernels>{"kernels", "How many"},
    member<&of::kernel_busy>{"kernel_busy_ns", "ns in which at least one ran"},
    member<&of::kernel_total>{"kernel_total_ns", "Sum of their lengths, ns"},
    member<&of::copy_busy>{"copy_busy_ns", "ns in which copies or migrations ran"},
    member<&of::copy_only>{"copy_only_ns", "ns in which a copy ran and no kernel: the device waited for data"},
    member<&of::overlap>{"overlap_ns", "ns in which a copy and a kernel ran together"},
    member<&of::memsets>{"memsets", "How many"}, member<&of::memset_busy>{"memset_busy_ns", "ns in which memsets ran"},
    member<&of::memset_bytes>{"memset_bytes", "Bytes that memsets wrote"},
    member<&of::first>{{}, "Begin of the first work", moment}, member<&of::last>{{}, "End of the last", moment})
SLUICE_MEMBERS(named_time, member<&of::name>(), member<&of::count>(), member<&of::total>{"total_ns"},
               member<&of::longest>{"longest_ns"}, member<&of::longest_event>())
SLUICE_MEMBERS(thread_statistics, member<&of::thread>{{}, "The thread"}, member<&of::process>{{}, "Its process"},
               member<&of::calls>{"calls", "API calls"}, member<&of::call_busy>{"call_busy_ns", "ns inside one"},
               member<&of::wait_busy>{"wait_busy_ns", "ns of waiting for a device"},
               member<&of::file_operations>{"file_operations", "Those that moved bytes or took time"},
               member<&of::file_bytes>{"file_bytes", "Theirs"}, member<&of::file_busy>{"file_busy_ns", "ns inside one"})

// --- figures of a report ---------------------------------------------------------------------------------------------

SLUICE_MEMBERS(holder, member<&of::name>(), member<&of::pool>(), member<&of::blocks>(), member<&of::bytes>(),
               member<&of::largest>{"largest_block"}, member<&of::largest_bytes>())
SLUICE_MEMBERS(unfreed_block, member<&of::block>(), member<&of::alloc>{"event"}, member<&of::name>(),
               member<&of::device>(), member<&of::address>{"address", {}, address}, member<&of::bytes>(),
               member<&of::born>{"born_ns"})
SLUICE_MEMBERS(unfreed_group, member<&of::process>(), member<&of::process_ended>(), member<&of::keeps_growing>(),
               member<&of::layer>(), member<&of::kind>(), member<&of::count>(), member<&of::bytes>(),
               member<&of::largest>())
SLUICE_MEMBERS(imported_memory, member<&of::process>(), member<&of::owner>(), member<&of::inferred>{"owner_inferred"},
               member<&of::layer>(), member<&of::kind>(), member<&of::blocks>(), member<&of::bytes>())
SLUICE_MEMBERS(failed_allocation, member<&of::event>(), member<&of::time>{"time_ns"}, member<&of::process>(),
               member<&of::device>(), member<&of::layer>(), member<&of::kind>(), member<&of::call>(),
               member<&of::bytes>(), member<&of::error>())
SLUICE_MEMBERS(fault_launch, member<&of::time>{"time_ns"}, member<&of::kernel>(), member<&of::stream>())
SLUICE_MEMBERS(fragmentation_figure, member<&of::device>(), member<&of::layer>(), member<&of::time>{"time_ns"},
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
    rank_figures, member<&of::process>{"process", "The process"},
    member<&of::rank>{"rank", "As torchrun or mpirun says"}, member<&of::device>{"device", "The device of the memory"},
    member<&of::layer>{"layer", "The highest layer in which the rank has memory of a device"},
    member<&of::kind>{"kind", "The kind of memory"},
    member<&of::peak>{"maximum_bytes", "The rank's highest use of this memory, in bytes"},
    member<&of::peak_time>{"maximum_time_ns", "When it was first reached", moment},
    member<&of::reserved>{"reserved_at_maximum_bytes", "What the layer then held for the rank; 0: not known"},
    member<&of::untracked>{"untracked_maximum_bytes", "Highest untracked bytes of the device; 0: not known"},
    member<&of::steps>{"steps", "Training steps"},
    member<&of::median_step>{"median_step_ns", "Their median length, ns"},
    member<&of::computing>{"computing_ns", "Sum of the lengths of kernels that are no collectives, ns"},
    member<&of::collectives>{"collectives", "Kernels of NCCL"},
    member<&of::collective_time>{"collective_ns", "Sum of their lengths, ns"},
    member<&of::waiting>{"waiting_ns", "Of that, what goes beyond the rank that needed least, for each collective"},
    member<&of::waiting_rarely>{"waiting_rarely_ns",
                                "Of that, waits of lengths that occur fewer than 4 times: connecting"},
    member<&of::reductions>{"all_reduces", "Of the collectives, all-reduces"},
    member<&of::gathers>{"gathers", "Of the collectives, all-gathers and reduce-scatters"},
    member<&of::shares>{"shares"}, member<&of::held>{"held"}, member<&of::kernels>{"kernels"})
SLUICE_MEMBERS(step_figures, member<&of::number>(), member<&of::span>{"span", {}, inlined}, member<&of::event>(),
               member<&of::peak>{"maximum_bytes"}, member<&of::peak_time>{"maximum_time_ns"},
               member<&of::at_begin>{"at_begin_bytes"}, member<&of::at_end>{"at_end_bytes"}, member<&of::allocations>(),
               member<&of::allocated_bytes>(), member<&of::h2d_bytes>(), member<&of::d2h_bytes>())
SLUICE_MEMBERS(copy_figures, member<&of::copies>{"count"}, member<&of::bytes>(), member<&of::busy>{"busy_ns"})
SLUICE_MEMBERS(repeat_figures, member<&of::all>{"all", {}, inlined}, member<&of::same_source>(),
               member<&of::same_destination>(), member<&of::exact>())
SLUICE_MEMBERS(memory_at_mark, member<&of::of>{"of", {}, inlined}, member<&of::bytes>(), member<&of::blocks>(),
               member<&of::segment_bytes>())
SLUICE_MEMBERS(pool_at_mark, member<&of::pool>(), member<&of::reserved>{"reserved_bytes"},
               member<&of::used>{"used_bytes"})

#undef SLUICE_MEMBERS

}  // namespace sluice::analysis
