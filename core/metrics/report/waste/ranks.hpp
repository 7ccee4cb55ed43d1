#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/time/time_range.hpp"
#include "core/metrics/base/member_list.hpp"
#include "core/metrics/statistics/tensor_report.hpp"
#include "core/trace/model/model.hpp"

/// What each rank of a job needs. Sizes are in bytes, times in ns.
namespace sluice::metrics {

/// The bytes that a call stack held at a rank's peak.
struct held_by_stack {
  trace::stack_id stack{};
  std::uint64_t bytes = 0;
  index::category category = index::category::none;  ///< The category of the blocks.
  std::uint64_t blocks = 0;
};
SLUICE_MEMBERS(held_by_stack, member<&row::stack>(), member<&row::bytes>(), member<&row::category>{"category"},
               member<&row::blocks>())

/// Total duration of a rank's kernels of one name.
struct kernel_total {
  trace::string_id name{};
  time_ns total = 0;
};
SLUICE_MEMBERS(kernel_total, member<&row::name>(), member<&row::total>{"total_ns"})

/// The metrics of one rank. The memory metrics refer to the highest layer in which the rank has device memory.
struct rank_metrics {
  trace::process_id process{};
  std::int64_t rank = 0;
  trace::device_id device{};
  trace::layer layer = trace::layer::driver;
  trace::memory_kind kind = trace::memory_kind::unknown;
  std::uint64_t peak = 0;  ///< The rank's maximum use of this memory.
  time_ns peak_time = 0;
  std::uint64_t reserved = 0;     ///< Driver memory that the layer held for the rank at `peak_time`; 0 if unknown.
  std::uint64_t untracked = 0;    ///< The maximum untracked bytes on the rank's device; 0 if unknown.
  std::uint64_t steps = 0;        ///< Number of training steps of the rank.
  time_ns median_step = 0;        ///< Median duration of these steps; 0 if there are none.
  time_ns computing = 0;          ///< Total duration of the rank's kernels, without collectives.
  std::uint64_t collectives = 0;  ///< Number of NCCL kernels, whose names start with "nccl".
  time_ns collective_time = 0;    ///< Total duration of the NCCL kernels.
  /// The part of `collective_time` in which the rank waited for others. In each collective, this is the duration in
  /// excess of the shortest duration on any rank. `collective_matcher` decides which kernels belong to one collective.
  time_ns waiting = 0;
  /// The part of `waiting` in waits of a length that occurs rarely, such as waits for connecting, compiling or an
  /// evaluation. A wait recurs if at least `min_recurring` (findings/shared/thresholds.hpp) waits of the rank are about
  /// equally long. The longest of them may be at most four times as long as the shortest.
  time_ns waiting_rarely = 0;
  /// How long other ranks waited in collectives for this rank, which was the last to start: summed over these ranks, so
  /// it can exceed the active time. Waits of a length that occurs rarely are left out, as in `waiting_rarely`.
  time_ns awaited = 0;
  /// The part of `awaited` in waits of at least `late_host` before which the device of this rank had no work, because
  /// its host was late: see `collective_wait::host_late`.
  time_ns awaited_host = 0;
  std::uint64_t reductions = 0;        ///< Number of all-reduces among the collectives.
  std::uint64_t gathers = 0;           ///< Number of all-gathers and reduce-scatters, which sharding needs.
  std::vector<category_share> shares;  ///< Composition of the peak, most bytes first; empty if no category is known.
  std::vector<held_by_stack> held;     ///< Stacks with memory at the peak, most bytes first; at most `limit`.
  std::vector<kernel_total> kernels;   ///< Kernels other than collectives, longest first, at most `limit`.
  static constexpr std::size_t limit = 64;
  /// Hosts that do the same work are up to some 100 us late by turns, because of the scheduler and of interrupts. From
  /// this time (ns) on, a delay is the program's: an order of magnitude more.
  static constexpr time_ns late_host = 1'000'000;
};
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

}  // namespace sluice::metrics
