#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <tuple>
#include <utility>

#include "core/metrics/members.hpp"
#include "core/summary/stored/serialize.hpp"
#include "core/summary/stored/stored_metrics.hpp"

/// Lists the members of `stored_metrics` that a file stores, in their order, unless a list of members names them
/// (core/metrics/base/member_list.hpp). A change here needs a new `metrics::base_version`. Private to core.
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
inline constexpr std::uint64_t enum_end<metrics::host_reason> = metrics::host_reason_count;
template <>
inline constexpr std::uint64_t enum_end<metrics::product_maker> = metrics::product_maker_count;
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
  void fields(Archive& archive, like<Archive, type> row)

/// The positions in the list of a struct, in the order in which a file stores the members.
template <class Metrics>
inline constexpr auto stored_order = [] {
  constexpr std::size_t count = std::tuple_size_v<decltype(metrics::get_members<Metrics>())>;
  std::array<std::size_t, count> order{};
  order.fill(count);
  std::size_t position = 0;
  const auto place = [&](const auto& member) {
    order.at(member.place == metrics::as_listed ? position : member.place) = position;
    ++position;
  };
  std::apply([&](const auto&... each) { (place(each), ...); }, metrics::get_members<Metrics>());
  return order;
}();

template <class Archive, class Metrics>
requires metrics::has_members<std::remove_const_t<Metrics>>
void fields(Archive& archive, Metrics& row) {
  using listed = std::remove_const_t<Metrics>;
  constexpr std::size_t count = stored_order<listed>.size();
  static_assert(
      std::find(stored_order<listed>.begin(), stored_order<listed>.end(), count) == stored_order<listed>.end(),
      "two members have the same place");
  [&]<std::size_t... At>(std::index_sequence<At...>) {
    constexpr auto members = metrics::get_members<listed>();
    archive(row, since{row.*(std::get<stored_order<listed>[At]>(members).pointer),
                       std::get<stored_order<listed>[At]>(members).since}...);
  }
  (std::make_index_sequence<count>{});
}

// --- stacks ---------------------------------------------------------------------------------------------------------

SLUICE_KEPT(metrics::stack_metrics) { archive(row, row.bytes, row.count, row.busy, row.alone); }
SLUICE_KEPT(metrics::stack_share) { archive(row, row.stack, row.metrics); }
SLUICE_KEPT(metrics::stack_use) { archive(row, row.shares, row.time, left_out{}, row.kernels_known); }
SLUICE_KEPT(metrics::listed_memory) { archive(row, row.memory, row.peak, row.has_stacks); }
SLUICE_KEPT(memory_stacks) { archive(row, row.memory, row.at_peak, row.allocated); }
SLUICE_KEPT(copy_stacks) { archive(row, row.device, row.direction, row.use); }

// --- the summary ----------------------------------------------------------------------------------------------------

SLUICE_KEPT(metrics::process_watermark) { archive(row, row.process, row.complete_until); }
SLUICE_KEPT(metrics::memory_peak) {
  archive(row, row.device, row.layer, row.kind, row.bytes, row.time, row.blocks, row.holders, row.other_bytes,
          left_out{}, left_out{});
}
SLUICE_KEPT(index::gpu_fault) {
  archive(row, row.event, row.time, row.process, row.thread, row.error, row.call, row.stream, row.launches,
          row.calls_after);
}
SLUICE_KEPT(metrics::step_summary) {
  archive(row, row.process, row.source, row.device, row.layer, row.kind, row.count, row.steps, row.median_duration,
          row.highest, row.growth, row.keeps_growing);
}
SLUICE_KEPT(metrics::unused_group) {
  archive(row, row.stack, left_out{}, row.name, row.category, row.exact, row.blocks, row.bytes, row.bytes_at_peak,
          row.mean_bytes, row.longest, row.longest_block);
}
SLUICE_KEPT(metrics::unused_memory) {
  archive(row, row.device, row.layer, row.kind, row.peak_time, row.peak_bytes, left_out{}, left_out{}, row.groups,
          left_out{}, row.never_touched, row.never_touched_bytes);
}
SLUICE_KEPT(metrics::round_trip_stacks) {
  archive(row, row.down, row.up, row.to_host, row.to_device, row.exact, row.largest, row.largest_bytes);
}
SLUICE_KEPT(metrics::zero_stack) { archive(row, row.stack, row.all, row.exact, row.largest, row.largest_bytes); }
SLUICE_KEPT(metrics::duplicate_copies) {
  archive(row, row.exact, row.sampled, row.over_budget, row.unreadable, row.overtaken, row.graph_launches, row.results,
          row.unseen_results, row.round_trips, row.zeros, row.repeated, left_out{}, left_out{}, left_out{},
          row.largest);
}
SLUICE_KEPT(metrics::repeating_stack) { archive(row, row.stack, row.metrics, row.largest, row.largest_bytes); }
SLUICE_KEPT(metrics::duplicate_metrics) { archive(row, row.all, row.stacks); }
SLUICE_KEPT(metrics::counter_at_mark) { archive(row, row.counter, row.value); }
SLUICE_KEPT(metrics::program_mark) {
  archive(row, row.time, row.process, row.thread, row.name, row.step, row.memory, row.counters, row.pools);
}
SLUICE_KEPT(index::recorded_message) { archive(row, row.severity, row.time, row.text, row.event); }
SLUICE_KEPT(metrics::idle_group) {
  archive(row, row.reason, row.device, row.layer, row.kind, row.stack, row.name, row.category, row.blocks_at_peak,
          row.bytes_at_peak, row.saved, row.largest, row.largest_bytes, row.idle, row.works, row.first_birth,
          row.last_birth, row.spread, row.birth_kernels, row.born, row.born_later, row.reassigned, row.replaced);
}
SLUICE_KEPT(metrics::idle_together) { archive(row, row.reason, row.category, row.saved); }
SLUICE_KEPT(metrics::idle_memory) {
  archive(row, row.device, row.layer, row.kind, row.peak_time, row.peak_bytes, row.works, row.kernels, row.groups,
          since{row.together, 13});
}
SLUICE_KEPT(metrics::growing_group) {
  archive(row, row.device, row.layer, row.kind, row.process, row.stack, row.name, row.blocks, row.bytes, row.first,
          row.last, row.newest);
}
SLUICE_KEPT(metrics::dead_write_group) {
  archive(row, row.device, row.layer, row.stack, row.first, row.count, row.bytes, row.longest, row.largest,
          row.largest_bytes);
}
SLUICE_KEPT(metrics::gap_group) {
  archive(row, row.device, row.cause, row.call, row.stack, row.stack_is_next, row.count, row.total, row.longest,
          row.longest_gap, row.recurring, row.spread, row.saved, row.range);
}
SLUICE_KEPT(metrics::cause_time) { archive(row, row.cause, row.count, row.total, row.longest); }
SLUICE_KEPT(metrics::launch_rate) { archive(row, row.launches, row.idle, row.busy, row.stretches, row.saved); }
SLUICE_KEPT(metrics::host_cause) { archive(row, row.reason, row.library, row.line); }
SLUICE_KEPT(metrics::host_cause_group) {
  archive(row, row.cause, row.total, row.gaps, row.longest, row.longest_gap, row.first, row.last, row.steps, row.recurs,
          row.example_stack);
}
SLUICE_KEPT(metrics::program_traits) {
  archive(row, row.pytorch, row.cupy, row.jax, row.numba, row.tensorflow, row.transformers, row.python, row.data_loader,
          row.data_workers, row.compiled);
}
SLUICE_KEPT(metrics::device_idle) {
  archive(row, row.device, row.span, row.busy, row.collectives_alone, row.causes, row.launches, row.host, row.traits);
}
SLUICE_KEPT(metrics::driver_call_group) {
  archive(row, row.call, row.stack, row.kind, row.frees, row.process, row.count, row.total, row.first, row.last);
}
SLUICE_KEPT(metrics::copy_group) {
  archive(row, row.device, row.direction, row.host_side, row.stack, row.count, row.bytes, row.busy, row.alone,
          row.queued, row.small, row.small_bytes, row.small_spread, row.on_kernels_stream, row.first, row.last,
          row.spread, row.largest, row.largest_bytes);
}
SLUICE_KEPT(metrics::cache_use) {
  archive(row, row.pool, row.device, row.reserved_maximum, row.reserved_time, row.parts, row.low_parts,
          row.usual_maximum, row.usual_reserved);
}
SLUICE_KEPT(metrics::held_twice) {
  archive(row, row.device, row.layer, row.kind, row.peak_time, row.peak_bytes, row.stack, row.copy_stack, row.blocks,
          row.bytes, row.copy_bytes, row.largest, row.largest_bytes);
}
SLUICE_KEPT(metrics::forced_growth) {
  archive(row, row.device, row.process, row.segment, row.segment_bytes, row.time, row.died, row.stack, row.asked,
          row.free, row.largest_hole, row.pins, row.pinned_bytes, row.pin_stack, row.largest_pin);
}
SLUICE_KEPT(metrics::forced_growths) {
  archive(row, row.device, row.count, row.bytes, row.reserved_maximum, row.largest);
}
SLUICE_KEPT(metrics::policy_outcome) { archive(row, row.policy, row.peak_reserved, row.retries, row.failures); }
SLUICE_KEPT(metrics::reserved_replay) {
  archive(row, row.device, row.peak_reserved, row.retries, row.policies, row.late_reserved, row.late_emptied);
}
SLUICE_KEPT(metrics::fp32_products) {
  archive(row, row.process, row.device, row.maker, row.count, row.total, row.busy, row.saved, row.longest_name,
          row.longest_total, row.first, row.last);
}
SLUICE_KEPT(metrics::held_share) {
  archive(row, row.stack, row.category, row.blocks, row.bytes, row.pinned_bytes, row.largest, row.largest_bytes,
          or_unknown{row.last_use});
}
SLUICE_KEPT(metrics::checked_change) { archive(row, row.kind, row.checked_by, row.blocks, row.freed, row.reserved); }
SLUICE_KEPT(metrics::out_of_memory) {
  archive(row, row.event, row.time, row.process, row.device, row.layer, row.kind, row.stack, row.call, row.asked,
          row.needed, row.limit, row.limit_from, row.limit_to, row.device_bytes, row.device_free_known, row.device_free,
          row.others, row.used, row.reserved, row.segments, row.largest_hole, row.missing, or_unknown{row.seen_from},
          row.held, row.uses_known, row.unused, or_unknown{row.compared}, row.grown, row.pins, row.changes,
          row.only_together, since{row.releasable, 12});
}
SLUICE_KEPT(metrics::report_metrics) {
  archive(row, row.events, row.blocks, row.watermarks, row.whole, row.peaks, row.held, row.unfreed, row.imports,
          row.copied, row.failures, row.faults, row.fragmentation, row.compositions, row.steps, row.unused,
          row.duplicates, row.marks, row.warnings, row.messages, row.retries, row.waste, row.out_of_memory);
}

// --- the rest of the stored metrics -------------------------------------------------------------------------------

SLUICE_KEPT(index::step) { archive(row, row.span, row.number, row.event); }
SLUICE_KEPT(index::step_list) { archive(row, row.source, row.steps); }
SLUICE_KEPT(index::process_steps) { archive(row, row.process, row.steps); }
SLUICE_KEPT(loss_span) { archive(row, row.begin, or_unknown{row.end}, row.events, row.memory_events); }
SLUICE_KEPT(index::block_category) { archive(row, row.kind, row.why); }
SLUICE_KEPT(metrics::listed_block) {
  archive(row, row.block, row.alloc, row.process, row.device, row.stream, row.pool, row.name, row.born,
          or_unknown{row.died}, row.address, row.bytes, row.layer, row.kind, row.category, row.stack,
          or_unknown{row.first_use}, or_unknown{row.last_use}, row.uses);
}
SLUICE_KEPT(block_sum) { archive(row, row.count, row.bytes); }
SLUICE_KEPT(stored_metrics) {
  archive(row, row.span, row.metrics, row.memory, row.copies, row.all_copies, row.steps, row.losses, row.uses_known,
          row.largest, row.blocks);
}

#undef SLUICE_KEPT

}  // namespace sluice::summary
