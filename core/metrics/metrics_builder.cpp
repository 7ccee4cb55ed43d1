#include "core/metrics/metrics_builder.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <tuple>

#include "core/base/cancel.hpp"
#include "core/index/event_store.hpp"
#include "core/index/tensor_facts.hpp"
#include "core/metrics/findings/reserved/thresholds.hpp"
#include "core/metrics/findings/shared/thresholds.hpp"
#include "core/metrics/make_report.hpp"

namespace sluice::metrics {
namespace {

void find_holders(const index::memory_use& memory, memory_peak& peak) {
  const index::memory_key key{peak.device, peak.layer, peak.kind};
  std::map<std::tuple<trace::string_id, trace::pool_id>, holder> groups;
  for (const index::block_record& block : memory.blocks()) {
    if (!block.allocated || block.imported() || index::memory_key{block.device, block.layer, block.kind} != key ||
        !block.live_at(peak.time)) {
      continue;
    }
    holder& group = groups[{block.name, block.pool}];
    group.name = block.name;
    group.pool = block.pool;
    ++group.blocks;
    group.bytes += block.bytes;
    // If several blocks are equally large, take the one with the lowest id, so that the order of arrival does not
    // matter.
    const bool first_of_equals = block.bytes == group.largest_bytes && block.id < group.largest;
    if (block.bytes > group.largest_bytes || group.largest == trace::block_id::none || first_of_equals) {
      group.largest = block.id;
      group.largest_bytes = block.bytes;
    }
    ++peak.blocks;
  }
  for (const auto& [name, group] : groups) peak.holders.push_back(group);
  std::stable_sort(peak.holders.begin(), peak.holders.end(),
                   [](const holder& a, const holder& b) { return a.bytes > b.bytes; });
  for (std::size_t i = report::holder_limit; i < peak.holders.size(); ++i) peak.other_bytes += peak.holders[i].bytes;
  if (peak.holders.size() > report::holder_limit) peak.holders.resize(report::holder_limit);
}

/// Returns the failures in the range that are not in `survived`, which is sorted.
std::vector<failed_allocation> failures_in(std::span<const trace::alloc_failed_event> failed, time_range range,
                                           const std::vector<trace::event_id>& survived) {
  std::vector<failed_allocation> allocations;
  for (const trace::alloc_failed_event& row : failed) {
    if (row.time < range.begin || row.time >= range.end) continue;
    if (std::binary_search(survived.begin(), survived.end(), row.id)) continue;
    allocations.push_back(
        {row.id, bounded(row.time), row.process, row.device, row.layer, row.kind, row.name, row.bytes, row.error});
  }
  std::sort(allocations.begin(), allocations.end(),
            [](const auto& a, const auto& b) { return std::tuple(a.time, a.event) < std::tuple(b.time, b.event); });
  if (allocations.size() > report::failure_limit) allocations.resize(report::failure_limit);
  return allocations;
}

/// Returns the allocators that hold more than the program needs, at its peak or later, or that have reached their
/// limit.
std::vector<cache_use> worth_replaying(const report_metrics& subject) {
  std::vector<cache_use> uses;
  for (const cache_use& each : subject.waste.caches) {
    std::uint64_t used = 0;
    for (const memory_statistics& memory : subject.whole.memory)
      if (memory.device == each.device && memory.layer == trace::layer::framework &&
          memory.kind == trace::memory_kind::device)
        used = memory.maximum;
    const double reserved = static_cast<double>(each.reserved_maximum);
    if (subject.retries.count > 0 || each.low_share() >= unused_at_last ||
        reserved - static_cast<double>(used) >= warned_memory_share * reserved)
      uses.push_back(each);
  }
  return uses;
}

}  // namespace

unsectioned_facts collect_unsectioned_facts(const index::event_store& whole) {
  unsectioned_facts facts;
  facts.events = whole.events();
  facts.warnings = whole.warnings();
  facts.messages = whole.messages();
  facts.faults = whole.faults().faults();
  facts.memories = memories_of_processes(whole.memory());
  facts.owners = &whole.import_owners();
  facts.contents = &whole.contents();
  return facts;
}

// --- copies ---------------------------------------------------------------------------------------------------------

void copied_stacks_builder::add(const index::event_store& store, time_range run) {
  const time_range part = intersect(scope_.range, run);
  std::set<way> here;
  for (const index::copy_record& copy : store.copies().copies()) here.emplace(copy.device, copy.direction);
  for (const way& each : here) {
    stack_use& use = ways_.try_emplace(each, nothing()).first->second;
    if (part.length() > 0)
      use.join(copying_stacks(store, {each.first, each.second}, scope_.range, never_cancelled, part));
  }
}

stack_use copied_stacks_builder::nothing() const {
  stack_use use;
  use.time = scope_.range.begin;
  return use;
}

stack_use copied_stacks_builder::of(const way& which) const {
  const auto known = ways_.find(which);
  return known == ways_.end() ? nothing() : known->second;
}

stack_use copied_stacks_builder::all() const {
  stack_use output = nothing();
  for (const auto& [which, use] : ways_) output.join(use);
  return output;
}

// --- all metrics ----------------------------------------------------------------------------------------------------

metrics_builder::metrics_builder(const metrics_scope& scope, const index::step_facts& steps,
                                 const unsectioned_facts& unsectioned)
    : scope_(scope),
      facts_(&steps),
      unsectioned_(&unsectioned),
      measured_(scope.range),
      unfreed_(scope),
      imports_(*unsectioned.owners),
      steps_(steps, unsectioned.memories, scope.range),
      unused_(scope),
      duplicates_(scope),
      marks_(scope),
      copied_(scope),
      retries_(scope),
      idle_(scope),
      growth_(scope),
      dead_writes_(scope),
      gaps_(scope),
      copy_waste_(scope),
      caches_(scope),
      ranks_(scope),
      twice_(scope),
      forced_(scope),
      products_(scope),
      out_of_memory_(scope),
      replays_(scope) {}

bool metrics_builder::go_on(const index::step_facts& steps, const unsectioned_facts& unsectioned, time_ns until) {
  facts_ = &steps;
  unsectioned_ = &unsectioned;
  measured_.set_end(scope_.range.end);
  steps_builder now(steps, unsectioned.memories, scope_.range);
  if (!now.take_over(std::move(steps_), until)) return false;
  steps_ = std::move(now);
  return imports_.knows(*unsectioned.owners) && ranks_.knows_the_ranks() && marks_.goes_on();
}

void metrics_builder::add(const index::event_store& store, time_range run) {
  add_found(find(store, run), store, run);
  for (std::size_t piece = 0; piece < pieces; ++piece) add_piece(piece, store, run);
}

run_findings metrics_builder::find(const index::event_store& store, time_range run) const {
  return {idle_.find(store, run), twice_.find(store, run)};
}

void metrics_builder::add_found(const run_findings& found, const index::event_store& store, time_range run) {
  idle_.add(found.idle);
  twice_.add(found.twice, store, run);
}

void metrics_builder::add_piece(std::size_t piece, const index::event_store& store, time_range run) {
  if (piece == 0) {
    retries_.add(store.memory());
    growth_.add(store, run);
    dead_writes_.add(store, run);
    gaps_.add(store, run);
    copy_waste_.add(store, run);
    caches_.add(store, run);
    ranks_.add(store, run);
    products_.add(store, run);
    forced_.add(store.memory(), run);
    return replays_.add(store.memory(), run);
  }
  count(store, run);
  measured_.add(store, intersect(scope_.range, run));
  unfreed_.add(store.memory(), run);
  segments_.add(store.memory(), run);
  imports_.add(store.memory(), run, scope_.range);
  steps_.add(store, run);
  unused_.add(store, run);
  duplicates_.add(*unsectioned_->contents, store, run);
  marks_.add(store, run);
  copied_.add(store, run);
}

void metrics_builder::count(const index::event_store& store, time_range run) {
  // There are few failures, so every section contains all failures so far.
  failed_.assign(store.memory().failed().begin(), store.memory().failed().end());
  blocks_ += static_cast<std::uint64_t>(
      std::count_if(store.memory().blocks().begin(), store.memory().blocks().end(),
                    [&](const index::block_record& b) { return b.allocated && run.holds(b.born); }));
  for (const auto& [process, until] : store.watermarks()) {
    const auto [latest, fresh] = watermarks_.try_emplace(process, until);
    if (!fresh) latest->second = std::max(latest->second, until);
  }
}

void metrics_builder::find_peaks() {
  if (peaks_found_) return;
  peaks_found_ = true;
  ranks_.find_peaks();
  made_.whole = measured_.metrics(scope_.tables());
  for (const memory_statistics& statistics : made_.whole.memory)
    if (statistics.maximum > 0)
      made_.peaks.push_back({statistics.device,
                             statistics.layer,
                             statistics.kind,
                             statistics.maximum,
                             statistics.maximum_time,
                             0,
                             {},
                             0,
                             {},
                             {}});
  details_.resize(made_.peaks.size());
  find_failures();
  if (!scope_.tables().stacks.rows().empty()) made_.held.resize(made_.peaks.size());
}

void metrics_builder::find_failures() {
  made_.failures = failures_in(failed_, scope_.range, retries_.survived());
  for (const failed_allocation& each : made_.failures) {
    // A failure of one of Sluice's own pools has no driver error.
    const bool of_runtime = each.layer == trace::layer::pool || each.layer == trace::layer::user;
    if (!says_out_of_memory(each.error) && !(of_runtime && each.error == 0)) continue;
    const auto row =
        std::find_if(failed_.begin(), failed_.end(), [&](const auto& subject) { return subject.id == each.event; });
    return out_of_memory_.set(*row, failed_, *facts_);
  }
}

std::vector<time_ns> metrics_builder::moments() {
  find_peaks();
  std::vector<time_ns> times = ranks_.moments();
  for (const memory_peak& peak : made_.peaks) times.push_back(peak.time);
  for (const time_ns each : out_of_memory_.moments()) times.push_back(each);
  std::sort(times.begin(), times.end());
  times.erase(std::unique(times.begin(), times.end()), times.end());
  return times;
}

void metrics_builder::revisit(const index::event_store& store, time_range run) {
  find_peaks();
  ranks_.revisit(store, run, segments_);
  out_of_memory_.revisit(store, run, segments_);
  for (std::size_t i = 0; i < made_.peaks.size(); ++i) {
    memory_peak& peak = made_.peaks[i];
    if (!run.holds(peak.time)) continue;
    find_holders(store.memory(), peak);
    if (i < made_.held.size())
      made_.held[i] = live_stacks(store.memory(), {peak.layer, peak.device, peak.kind}, peak.time, never_cancelled);
    details_[i] = {segments_.at(peak, store.memory()), composition_at(peak, store, *scope_.trace)};
    unused_.revisit(peak, store);
    idle_.revisit(peak, store);
  }
}

report_metrics metrics_builder::take() {
  find_peaks();
  made_.events = unsectioned_->events;
  made_.blocks = blocks_;
  for (const auto& [process, complete_until] : watermarks_) made_.watermarks.push_back({process, complete_until});
  made_.unfreed = unfreed_.take(scope_.tables());
  made_.retries = retries_.retries();
  made_.whole.failed_allocations -= made_.retries.count + made_.retries.reported_again;
  made_.imports = imports_.metrics(*unsectioned_->owners);
  if (!scope_.tables().stacks.rows().empty())
    for (const transfer_statistics& statistics : made_.whole.transfers)
      made_.copied.push_back(copied_.of({statistics.device, statistics.direction}));
  for (const index::gpu_fault& fault : unsectioned_->faults)
    if (scope_.range.holds(fault.time)) made_.faults.push_back(fault);
  for (const auto& [fragmentation, composition] : details_) {
    if (fragmentation) made_.fragmentation.push_back(*fragmentation);
    if (composition) made_.compositions.push_back(*composition);
  }
  made_.steps = steps_.take();
  made_.unused = unused_.metrics(made_.peaks);
  made_.duplicates = duplicates_.metrics(*unsectioned_->contents);
  made_.marks = marks_.take();
  made_.waste = {idle_.metrics(made_.peaks),
                 growth_.metrics(made_.whole.active),
                 dead_writes_.groups(),
                 gaps_.gaps(),
                 gaps_.driver_calls(),
                 copy_waste_.groups(),
                 caches_.metrics(),
                 ranks_.metrics(made_.steps, made_.whole.untracked),
                 {},
                 twice_.metrics(made_.peaks, made_.whole.active),
                 {},
                 products_.metrics(),
                 gaps_.devices()};
  made_.waste.forced = forced_.metrics(made_.waste.caches);
  made_.waste.replays = replays_.take(worth_replaying(made_));
  made_.out_of_memory = out_of_memory_.take();
  made_.warnings = unsectioned_->warnings;
  made_.messages = unsectioned_->messages;
  return std::move(made_);
}

report_metrics compute_metrics(const index::event_store& store, const trace::snapshot& trace,
                               std::optional<time_range> range) {
  const unsectioned_facts unsectioned = collect_unsectioned_facts(store);
  const auto facts = store.tensors(trace);
  const metrics_scope scope{&trace, bounded(range.value_or(index::recorded_range(trace)))};
  metrics_builder builder(scope, *facts->steps, unsectioned);
  builder.add(store, all_time);
  builder.revisit(store, all_time);
  return builder.take();
}

}  // namespace sluice::metrics
