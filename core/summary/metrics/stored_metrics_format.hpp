#pragma once

#include "core/metrics/members.hpp"
#include "core/summary/metrics/serialize.hpp"
#include "core/summary/metrics/stored_metrics.hpp"

/// Lists the members of `stored_metrics` that are stored. A change here needs a new `stored_metrics_version`. Private
/// to core.
namespace sluice::summary {

template <>
inline constexpr std::uint64_t enum_end<index::category> = index::category_count;
template <>
inline constexpr std::uint64_t enum_end<index::category_reason> = index::category_reason_count;
template <>
inline constexpr std::uint64_t enum_end<index::step_source> = static_cast<std::uint64_t>(index::step_source::pattern) +
                                                              1;
template <>
inline constexpr std::uint64_t enum_end<metrics::idle_reason> = metrics::idle_reason_count;
template <>
inline constexpr std::uint64_t enum_end<metrics::gap_cause> = metrics::gap_cause_count;
template <>
inline constexpr std::uint64_t enum_end<index::access_kind> = static_cast<std::uint64_t>(index::access_kind::read) + 1;
template <>
inline constexpr std::uint64_t enum_end<metrics::memory_limit> =
    static_cast<std::uint64_t>(metrics::memory_limit::framework) + 1;
template <>
inline constexpr std::uint64_t enum_end<metrics::remedy> = metrics::remedy_count;
template <>
inline constexpr std::uint64_t enum_end<metrics::remedy_check> =
    static_cast<std::uint64_t>(metrics::remedy_check::replay) + 1;

#define SLUICE_KEPT(type)  \
  template <class Archive> \
  void fields(Archive& all, like<Archive, type> of)

/// Structs whose members are stored in the order of their member list. The member lists of the excluded structs are
/// used only for JSON and SQL.
template <class Metrics>
concept stored_as_listed =
    metrics::has_members<Metrics> && !std::is_same_v<Metrics, metrics::untracked_statistics> &&
    !std::is_same_v<Metrics, metrics::device_activity> && !std::is_same_v<Metrics, index::imported_memory> &&
    !std::is_same_v<Metrics, metrics::rank_metrics>;

template <class Archive, class Metrics>
requires stored_as_listed<std::remove_const_t<Metrics>>
void fields(Archive& all, Metrics& of) {
  std::apply([&](const auto&... each) { all(of, of.*(each.pointer)...); },
             metrics::members_of<std::remove_const_t<Metrics>>());
}

// --- metrics of a range ---------------------------------------------------------------------------------------------

SLUICE_KEPT(metrics::untracked_statistics) {
  all(of, of.device, of.samples, of.device_bytes, of.maximum, of.at_end, of.mean, of.recorder, of.used_maximum);
}
SLUICE_KEPT(metrics::device_activity) {
  all(of, of.device, of.kernels, of.kernel_total, of.kernel_busy, of.copy_busy, of.copy_only, of.overlap, of.busy,
      of.first, of.last, of.memsets, of.memset_busy, of.memset_bytes);
}
SLUICE_KEPT(metrics::range_statistics) {
  all(of, of.range, of.active, of.memory, of.untracked, of.pools, of.transfers, of.devices, of.kernels, of.calls,
      of.ranges, of.threads, of.kernel_names, of.failed_allocations, of.lost_events, of.lost_memory_events);
}

// --- stacks ---------------------------------------------------------------------------------------------------------

SLUICE_KEPT(metrics::stack_metrics) { all(of, of.bytes, of.count, of.busy, of.alone); }
SLUICE_KEPT(metrics::stack_share) { all(of, of.stack, of.metrics); }
SLUICE_KEPT(metrics::stack_use) { all(of, of.shares, of.time, left_out{}, of.kernels_known); }
SLUICE_KEPT(metrics::listed_memory) { all(of, of.of, of.peak, of.has_stacks); }
SLUICE_KEPT(memory_stacks) { all(of, of.memory, of.at_peak, of.allocated); }
SLUICE_KEPT(copy_stacks) { all(of, of.device, of.direction, of.use); }

// --- the summary ----------------------------------------------------------------------------------------------------

SLUICE_KEPT(metrics::process_watermark) { all(of, of.process, of.complete_until); }
SLUICE_KEPT(metrics::memory_peak) {
  all(of, of.device, of.layer, of.kind, of.bytes, of.time, of.blocks, of.holders, of.other_bytes, left_out{},
      left_out{});
}
SLUICE_KEPT(index::imported_memory) {
  all(of, of.process, of.owner, of.layer, of.kind, of.blocks, of.bytes, of.inferred);
}
SLUICE_KEPT(metrics::allocation_retry) {
  all(of, of.event, of.block, of.time, of.until, of.process, of.device, of.layer, of.kind, of.call, of.bytes);
}
SLUICE_KEPT(metrics::allocation_retries) { all(of, of.count, of.total, of.reported_again, of.first); }
SLUICE_KEPT(index::gpu_fault) {
  all(of, of.event, of.time, of.process, of.thread, of.error, of.call, of.stream, of.launches, of.calls_after);
}
SLUICE_KEPT(metrics::step_summary) {
  all(of, of.process, of.source, of.device, of.layer, of.kind, of.count, of.steps, of.median_duration, of.highest,
      of.growth, of.keeps_growing);
}
SLUICE_KEPT(metrics::unused_group) {
  all(of, of.stack, left_out{}, of.name, of.what, of.exact, of.blocks, of.bytes, of.bytes_at_peak, of.mean_bytes,
      of.longest, of.longest_block);
}
SLUICE_KEPT(metrics::unused_memory) {
  all(of, of.device, of.layer, of.kind, of.peak_time, of.peak_bytes, left_out{}, left_out{}, of.groups, left_out{},
      of.never_touched, of.never_touched_bytes);
}
SLUICE_KEPT(metrics::round_trip_stacks) {
  all(of, of.down, of.up, of.to_host, of.to_device, of.exact, of.largest, of.largest_bytes);
}
SLUICE_KEPT(metrics::zero_stack) { all(of, of.stack, of.all, of.exact, of.largest, of.largest_bytes); }
SLUICE_KEPT(metrics::duplicate_copies) {
  all(of, of.exact, of.sampled, of.over_budget, of.unreadable, of.overtaken, of.graph_launches, of.results,
      of.unseen_results, of.round_trips, of.zeros, of.repeated, left_out{}, left_out{}, left_out{}, of.largest);
}
SLUICE_KEPT(metrics::repeating_stack) { all(of, of.stack, of.metrics, of.largest, of.largest_bytes); }
SLUICE_KEPT(metrics::duplicate_metrics) { all(of, of.all, of.stacks); }
SLUICE_KEPT(metrics::counter_at_mark) { all(of, of.counter, of.value); }
SLUICE_KEPT(metrics::program_mark) {
  all(of, of.time, of.process, of.thread, of.name, of.step, of.memory, of.counters, of.pools);
}
SLUICE_KEPT(index::recorded_message) { all(of, of.severity, of.time, of.text, of.event); }
SLUICE_KEPT(metrics::idle_group) {
  all(of, of.reason, of.device, of.layer, of.kind, of.stack, of.name, of.what, of.blocks_at_peak, of.bytes_at_peak,
      of.saved, of.largest, of.largest_bytes, of.idle, of.works, of.first_birth, of.last_birth, of.spread,
      of.birth_kernels, of.born, of.born_later, of.reassigned, of.replaced);
}
SLUICE_KEPT(metrics::idle_memory) {
  all(of, of.device, of.layer, of.kind, of.peak_time, of.peak_bytes, of.works, of.kernels, of.groups);
}
SLUICE_KEPT(metrics::growing_group) {
  all(of, of.device, of.layer, of.kind, of.process, of.stack, of.name, of.blocks, of.bytes, of.first, of.last,
      of.newest);
}
SLUICE_KEPT(metrics::dead_write_group) {
  all(of, of.device, of.layer, of.stack, of.first, of.count, of.bytes, of.longest, of.largest, of.largest_bytes);
}
SLUICE_KEPT(metrics::gap_group) {
  all(of, of.device, of.cause, of.call, of.stack, of.stack_is_next, of.count, of.total, of.longest, of.longest_gap,
      of.recurring, of.spread, of.saved, of.range);
}
SLUICE_KEPT(metrics::driver_call_group) {
  all(of, of.call, of.stack, of.kind, of.frees, of.process, of.count, of.total, of.first, of.last);
}
SLUICE_KEPT(metrics::copy_group) {
  all(of, of.device, of.direction, of.host_side, of.stack, of.count, of.bytes, of.busy, of.alone, of.queued, of.small,
      of.small_bytes, of.small_spread, of.on_kernels_stream, of.first, of.last, of.spread, of.largest,
      of.largest_bytes);
}
SLUICE_KEPT(metrics::cache_use) {
  all(of, of.pool, of.device, of.reserved_maximum, of.reserved_time, of.parts, of.low_parts, of.usual_maximum,
      of.usual_reserved);
}
SLUICE_KEPT(metrics::held_twice) {
  all(of, of.device, of.layer, of.kind, of.peak_time, of.peak_bytes, of.stack, of.copy_stack, of.blocks, of.bytes,
      of.copy_bytes, of.largest, of.largest_bytes);
}
SLUICE_KEPT(metrics::forced_growth) {
  all(of, of.device, of.process, of.segment, of.segment_bytes, of.time, of.died, of.stack, of.asked, of.free,
      of.largest_hole, of.pins, of.pinned_bytes, of.pin_stack, of.largest_pin);
}
SLUICE_KEPT(metrics::forced_growths) { all(of, of.device, of.count, of.bytes, of.reserved_maximum, of.largest); }
SLUICE_KEPT(metrics::policy_outcome) { all(of, of.policy, of.peak_reserved, of.retries, of.failures); }
SLUICE_KEPT(metrics::reserved_replay) {
  all(of, of.device, of.peak_reserved, of.retries, of.policies, of.late_reserved, of.late_emptied);
}
SLUICE_KEPT(metrics::rank_metrics) {
  all(of, of.process, of.rank, of.device, of.layer, of.kind, of.peak, of.peak_time, of.reserved, of.untracked, of.steps,
      of.median_step, of.computing, of.collectives, of.collective_time, of.waiting, since<9>(of.waiting_rarely),
      of.reductions, of.gathers, of.shares, of.held, of.kernels);
}
SLUICE_KEPT(metrics::waste_metrics) {
  all(of, of.idle, of.growing, of.dead_writes, of.gaps, of.driver_calls, of.copies, of.caches, of.ranks, of.replays,
      of.twice, of.forced);
}
SLUICE_KEPT(metrics::held_share) {
  all(of, of.stack, of.what, of.blocks, of.bytes, of.pinned_bytes, of.largest, of.largest_bytes,
      or_unknown{of.last_use});
}
SLUICE_KEPT(metrics::checked_change) { all(of, of.what, of.checked_by, of.blocks, of.freed, of.reserved); }
SLUICE_KEPT(metrics::out_of_memory) {
  all(of, of.event, of.time, of.process, of.device, of.layer, of.kind, of.stack, of.call, of.asked, of.needed, of.limit,
      of.limit_from, of.limit_to, of.device_bytes, of.device_free_known, of.device_free, of.others, of.used,
      of.reserved, of.segments, of.largest_hole, of.missing, or_unknown{of.seen_from}, of.held, of.uses_known,
      of.unused, or_unknown{of.compared}, of.grown, of.pins, of.changes, of.only_together);
}
SLUICE_KEPT(metrics::report_metrics) {
  all(of, of.events, of.blocks, of.watermarks, of.whole, of.peaks, of.held, of.unfreed, of.imports, of.copied,
      of.failures, of.faults, of.fragmentation, of.compositions, of.steps, of.unused, of.duplicates, of.marks,
      of.warnings, of.messages, of.retries, of.waste, of.out_of_memory);
}

// --- the rest of the stored metrics -------------------------------------------------------------------------------

SLUICE_KEPT(index::step) { all(of, of.span, of.number, of.event); }
SLUICE_KEPT(index::step_list) { all(of, of.source, of.steps); }
SLUICE_KEPT(index::process_steps) { all(of, of.process, of.steps); }
SLUICE_KEPT(loss_span) { all(of, of.begin, or_unknown{of.end}, of.events, of.memory_events); }
SLUICE_KEPT(index::block_category) { all(of, of.what, of.why); }
SLUICE_KEPT(metrics::listed_block) {
  all(of, of.block, of.alloc, of.process, of.device, of.stream, of.pool, of.name, of.born, or_unknown{of.died},
      of.address, of.bytes, of.layer, of.kind, of.category, of.stack, or_unknown{of.first_use}, or_unknown{of.last_use},
      of.uses);
}
SLUICE_KEPT(block_sum) { all(of, of.count, of.bytes); }
SLUICE_KEPT(stored_metrics) {
  all(of, of.span, of.metrics, of.memory, of.copies, of.all_copies, of.steps, of.losses, of.uses_known, of.largest,
      of.blocks);
}

#undef SLUICE_KEPT

}  // namespace sluice::summary
