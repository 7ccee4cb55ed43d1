#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "core/index/boundary_samples.hpp"
#include "core/index/event_store.hpp"
#include "core/index/recording_facts.hpp"
#include "core/index/tensor_facts.hpp"
#include "core/summary/metrics/stored_metrics_builder.hpp"
#include "core/summary/sections/boundary_blocks.hpp"
#include "core/summary/sections/section_writer.hpp"

/// Computes the data that a file stores about its recording from an index of the whole recording. The product computes
/// the same data section by section; both results must be equal.
namespace sluice::summary {

namespace whole_index {

inline std::vector<index::recording_facts::memory> get_memories(const index::event_store& store,
                                                                const index::tensor_facts& facts, time_range span) {
  std::map<index::memory_key, bool> stacks;
  for (const index::block_record& block : store.memory().blocks())
    if (block.allocated && !block.imported())
      stacks[{block.device, block.layer, block.kind}] |= block.stack != trace::stack_id::none;
  std::vector<index::recording_facts::memory> items;
  for (const auto& [key, tree] : store.memory().use()) {
    index::recording_facts::memory& output = items.emplace_back();
    output.key = key;
    output.highest = tree.highest(span.begin, span.end);
    output.stacks = stacks[key];
    const auto use = facts.use.find(key);
    if (use == facts.use.end()) continue;
    for (std::size_t i = 0; i < index::category_count; ++i)
      if (!use->second[i].empty())
        output.by_category.push_back({static_cast<index::category>(i), use->second[i].highest(span.begin, span.end)});
  }
  return items;
}

inline std::vector<index::recording_facts::pool> get_pools(const index::event_store& store, time_range span) {
  std::vector<index::recording_facts::pool> items;
  for (const auto& [id, pool] : store.memory().pools()) {
    const bool has_blocks = !pool.blocks.empty();
    items.push_back({id, pool.has_segments, has_blocks, has_blocks ? pool.blocks.highest(span.begin, span.end) : 0});
  }
  return items;
}

inline std::vector<index::recording_facts::untracked> get_untracked(const index::event_store& store) {
  std::vector<index::recording_facts::untracked> untrackeds;
  for (const auto& [device, samples] : store.memory().devices())
    for (const index::device_samples::sample& each : samples.samples)
      untrackeds.push_back({device, each.time, samples.untracked.at(each.time), each.order});
  return untrackeds;
}

inline std::vector<index::block_graph_use> find_graphs(const index::event_store& store) {
  std::vector<index::block_graph_use> uses;
  if (store.touches().empty()) return uses;
  for (const index::block_record& block : store.memory().blocks())
    for (const index::graph_use& use : store.touches().find_graphs(block.id))
      uses.push_back({block.id, use, store.touches().graph_copies(use.graph)});
  index::sort_by_graph(uses);
  return uses;
}

inline void save_blocks(const index::event_store& store, const trace::snapshot& recording, section_writer& into) {
  const std::span<const index::block_record> blocks = store.memory().blocks();
  const auto tensors = store.tensors(recording);
  const std::set<trace::block_id> disputed(store.memory().disputed().begin(), store.memory().disputed().end());
  std::vector<std::vector<trace::block_category_row>> categories(into.begins().size());
  std::vector<saved_block> kept;
  for (std::size_t at = 0; at < blocks.size(); ++at) {
    if (!blocks[at].allocated) continue;
    saved_block each{
        blocks[at], at < tensors->categories.size() ? tensors->categories[at] : index::block_category{}, {}};
    each.uses = store.touches().of(each.block);
    each.disputed = disputed.contains(each.block.id);
    const bool keep = is_kept(each, into.begins());
    if (!each.crosses && !each.disputed && each.category.kind != index::category::none)
      categories[find_section(into.begins(), each.block.born)].push_back(get_category_row(each));
    if (keep) kept.push_back(std::move(each));
  }
  into.add_blocks(kept);
  for (std::size_t i = 0; i < categories.size(); ++i) into.add_categories(i, categories[i]);
}

}  // namespace whole_index

/// Collects the facts about `recording`; `store` is an index of the whole recording.
inline index::recording_facts facts_of_recording(const index::event_store& store, const trace::snapshot& recording) {
  const time_range span = index::recorded_range(recording);
  const auto tensors = store.tensors(recording);
  index::recording_facts facts;
  facts.chunks = std::make_shared<const index::chunk_index>(store.chunks());
  facts.memories = whole_index::get_memories(store, *tensors, span);
  facts.pools = whole_index::get_pools(store, span);
  facts.not_tracked = whole_index::get_untracked(store);
  for (const auto& [key, slices] : store.devices().streams()) facts.streams.push_back({key, slices.lanes()});
  for (const auto& [key, work] : store.devices().directions())
    facts.directions.push_back({key, work.slices.lanes(), work.rate.highest(span.begin, span.end)});
  for (const auto& [key, work] : store.host().threads())
    facts.threads.push_back({key, work.ranges.lanes(), work.calls.lanes()});
  for (const auto& [device, work] : store.devices().devices())
    if (!work.kernels.empty()) facts.with_kernels.push_back(device);
  facts.graphs = whole_index::find_graphs(store);
  for (const index::block_record& block : store.memory().blocks())
    if (block.allocated && block.parent != trace::block_id::none &&
        (facts.segments.empty() || facts.segments.back() != block.parent))
      facts.segments.push_back(block.parent);
  std::sort(facts.segments.begin(), facts.segments.end());
  facts.segments.erase(std::unique(facts.segments.begin(), facts.segments.end()), facts.segments.end());
  facts.touches = store.touches().touches();
  facts.tagged = tensors->tagged;
  facts.steps = tensors->steps;
  return facts;
}

/// Writes the state that readers of single sections need, computed from an index of the whole recording.
inline void save_sections(const index::event_store& store, const trace::snapshot& recording,
                          std::span<const trace::section_row> sections, trace::file_writer& to) {
  if (sections.empty()) return;
  const std::vector<time_ns> begins = collect_begins(sections);
  section_writer into(to, begins);
  whole_index::save_blocks(store, recording, into);
  for (std::size_t i = 0; i < begins.size(); ++i) {
    const time_range run{i == 0 ? -latest_time : begins[i], i + 1 < begins.size() ? begins[i + 1] : latest_time + 1};
    std::vector<trace::last_sample_row> samples;
    if (i > 0) samples = index::samples_before(begins[i], store.memory(), store.counters());
    const auto inside = index::device_samples_in(run, begins[i], store.memory());
    samples.insert(samples.end(), inside.begin(), inside.end());
    into.add_samples(i, samples);
    if (i > 0) into.add_open_slices(i, open_slices_at(begins[i], store));
  }
  into.add_first_and_highest(index::first_and_highest_samples(store.memory(), store.counters()));
  into.add_chunks(store.chunks());
  into.add_steps(*store.tensors(recording)->steps);
  into.add_whole(facts_of_recording(store, recording));
}

/// The metrics that a file stores, computed from an index of the whole recording.
inline stored_metrics make_stored_metrics(const index::event_store& store, const trace::snapshot& trace) {
  const metrics::unsectioned_facts unsectioned = metrics::collect_unsectioned_facts(store);
  const auto facts = store.tensors(trace);
  const metrics::metrics_scope scope{&trace, index::recorded_range(trace)};
  stored_metrics_builder builder(scope, *facts->steps, unsectioned);
  builder.add_found(builder.find(store, all_time), store, all_time);
  for (std::size_t piece = 0; piece < stored_metrics_builder::pieces; ++piece)
    builder.add_piece(piece, store, all_time);
  builder.revisit(store, all_time);
  return builder.take();
}

}  // namespace sluice::summary
