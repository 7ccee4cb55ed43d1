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

inline std::vector<index::recording_facts::memory> memories_of(const index::event_store& from,
                                                               const index::tensor_facts& facts, time_range span) {
  std::map<index::memory_key, bool> stacks;
  for (const index::block_record& block : from.memory().blocks())
    if (block.allocated && !block.imported())
      stacks[{block.device, block.layer, block.kind}] |= block.stack != trace::stack_id::none;
  std::vector<index::recording_facts::memory> all;
  for (const auto& [key, tree] : from.memory().use()) {
    index::recording_facts::memory& made = all.emplace_back();
    made.key = key;
    made.highest = tree.highest(span.begin, span.end);
    made.stacks = stacks[key];
    const auto use = facts.use.find(key);
    if (use == facts.use.end()) continue;
    for (std::size_t i = 0; i < index::category_count; ++i)
      if (!use->second[i].empty())
        made.by_category.push_back({static_cast<index::category>(i), use->second[i].highest(span.begin, span.end)});
  }
  return all;
}

inline std::vector<index::recording_facts::pool> pools_of(const index::event_store& from, time_range span) {
  std::vector<index::recording_facts::pool> all;
  for (const auto& [id, pool] : from.memory().pools()) {
    const bool has_blocks = !pool.blocks.empty();
    all.push_back({id, pool.has_segments, has_blocks, has_blocks ? pool.blocks.highest(span.begin, span.end) : 0});
  }
  return all;
}

inline std::vector<index::recording_facts::untracked> untracked_of(const index::event_store& from) {
  std::vector<index::recording_facts::untracked> all;
  for (const auto& [device, samples] : from.memory().devices())
    for (const index::device_samples::sample& each : samples.samples)
      all.push_back({device, each.time, samples.untracked.at(each.time), each.order});
  return all;
}

inline std::vector<index::block_graph_use> graphs_of(const index::event_store& from) {
  std::vector<index::block_graph_use> all;
  if (from.touches().empty()) return all;
  for (const index::block_record& block : from.memory().blocks())
    for (const index::graph_use& use : from.touches().graphs_of(block.id))
      all.push_back({block.id, use, from.touches().graph_copies(use.graph)});
  index::sort_by_graph(all);
  return all;
}

inline void save_blocks(const index::event_store& from, const trace::snapshot& of, section_writer& into) {
  const std::span<const index::block_record> blocks = from.memory().blocks();
  const auto tensors = from.tensors(of);
  const std::set<trace::block_id> disputed(from.memory().disputed().begin(), from.memory().disputed().end());
  std::vector<std::vector<trace::block_category_row>> categories(into.begins().size());
  std::vector<saved_block> kept;
  for (std::size_t at = 0; at < blocks.size(); ++at) {
    if (!blocks[at].allocated) continue;
    saved_block each{
        blocks[at], at < tensors->categories.size() ? tensors->categories[at] : index::block_category{}, {}};
    each.uses = from.touches().of(each.block);
    each.disputed = disputed.contains(each.block.id);
    const bool keep = is_kept(each, into.begins());
    if (!each.crosses && !each.disputed && each.category.what != index::category::none)
      categories[section_of(into.begins(), each.block.born)].push_back(category_row_of(each));
    if (keep) kept.push_back(std::move(each));
  }
  into.add_blocks(kept);
  for (std::size_t i = 0; i < categories.size(); ++i) into.add_categories(i, categories[i]);
}

}  // namespace whole_index

/// Collects the facts about the recording `of`; `from` is an index of the whole recording.
inline index::recording_facts facts_of_recording(const index::event_store& from, const trace::snapshot& of) {
  const time_range span = index::time_range_of(of);
  const auto tensors = from.tensors(of);
  index::recording_facts all;
  all.chunks = std::make_shared<const index::chunk_index>(from.chunks());
  all.memories = whole_index::memories_of(from, *tensors, span);
  all.pools = whole_index::pools_of(from, span);
  all.not_tracked = whole_index::untracked_of(from);
  for (const auto& [key, slices] : from.devices().streams()) all.streams.push_back({key, slices.lanes()});
  for (const auto& [key, work] : from.devices().directions())
    all.directions.push_back({key, work.slices.lanes(), work.rate.highest(span.begin, span.end)});
  for (const auto& [key, work] : from.host().threads())
    all.threads.push_back({key, work.ranges.lanes(), work.calls.lanes()});
  for (const auto& [device, work] : from.devices().devices())
    if (!work.kernels.empty()) all.with_kernels.push_back(device);
  all.graphs = whole_index::graphs_of(from);
  for (const index::block_record& block : from.memory().blocks())
    if (block.allocated && block.parent != trace::block_id::none &&
        (all.segments.empty() || all.segments.back() != block.parent))
      all.segments.push_back(block.parent);
  std::sort(all.segments.begin(), all.segments.end());
  all.segments.erase(std::unique(all.segments.begin(), all.segments.end()), all.segments.end());
  all.touches = from.touches().touches();
  all.tagged = tensors->tagged;
  all.steps = tensors->steps;
  return all;
}

/// Writes the state that readers of single sections need, computed from an index of the whole recording.
inline void save_sections(const index::event_store& from, const trace::snapshot& of,
                          std::span<const trace::section_row> sections, trace::file_writer& to) {
  if (sections.empty()) return;
  const std::vector<time_ns> begins = begins_of(sections);
  section_writer into(to, begins);
  whole_index::save_blocks(from, of, into);
  for (std::size_t i = 0; i < begins.size(); ++i) {
    const time_range run{i == 0 ? -latest_time : begins[i], i + 1 < begins.size() ? begins[i + 1] : latest_time + 1};
    std::vector<trace::last_sample_row> samples;
    if (i > 0) samples = index::samples_before(begins[i], from.memory(), from.counters());
    const auto inside = index::device_samples_in(run, begins[i], from.memory());
    samples.insert(samples.end(), inside.begin(), inside.end());
    into.add_samples(i, samples);
    if (i > 0) into.add_open_slices(i, open_slices_at(begins[i], from));
  }
  into.add_first_and_highest(index::first_and_highest_samples(from.memory(), from.counters()));
  into.add_chunks(from.chunks());
  into.add_steps(*from.tensors(of)->steps);
  into.add_whole(facts_of_recording(from, of));
}

/// The metrics that a file stores, computed from an index of the whole recording.
inline stored_metrics make_stored_metrics(const index::event_store& from, const trace::snapshot& trace) {
  const metrics::unsectioned_facts unsectioned = metrics::unsectioned_facts_of(from);
  const auto facts = from.tensors(trace);
  const metrics::metrics_scope scope{&trace, index::time_range_of(trace)};
  stored_metrics_builder all(scope, *facts->steps, unsectioned);
  all.add_found(all.find(from, all_time), from, all_time);
  for (std::size_t piece = 0; piece < stored_metrics_builder::pieces; ++piece) all.add_piece(piece, from, all_time);
  all.revisit(from, all_time);
  return all.take();
}

}  // namespace sluice::summary
