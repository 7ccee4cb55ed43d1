#include "core/index/recording_facts.hpp"

#include <algorithm>

#include "core/index/index.hpp"
#include "core/index/tensor_facts.hpp"

namespace sluice::analysis {
namespace {

std::vector<recording_facts::memory> memories_of(const index& from, const tensor_facts& facts, time_range span) {
  std::map<memory_key, bool> stacks;
  for (const block_record& block : from.memory().blocks())
    if (block.allocated && !block.imported())
      stacks[{block.device, block.layer, block.kind}] |= block.stack != trace::stack_id::none;
  std::vector<recording_facts::memory> all;
  for (const auto& [key, tree] : from.memory().use()) {
    recording_facts::memory& made = all.emplace_back();
    made.key = key;
    made.highest = tree.highest(span.begin, span.end);
    made.stacks = stacks[key];
    const auto use = facts.use.find(key);
    if (use == facts.use.end()) continue;
    for (std::size_t i = 0; i < category_count; ++i)
      if (!use->second[i].empty())
        made.by_category.push_back({static_cast<category>(i), use->second[i].highest(span.begin, span.end)});
  }
  return all;
}

std::vector<recording_facts::pool> pools_of(const index& from, time_range span) {
  std::vector<recording_facts::pool> all;
  for (const auto& [id, pool] : from.memory().pools()) {
    const bool has_blocks = !pool.blocks.empty();
    all.push_back({id, pool.has_segments, has_blocks, has_blocks ? pool.blocks.highest(span.begin, span.end) : 0});
  }
  return all;
}

std::vector<recording_facts::untracked> untracked_of(const index& from) {
  std::vector<recording_facts::untracked> all;
  for (const auto& [device, samples] : from.memory().devices())
    for (const device_samples::sample& each : samples.samples)
      all.push_back({device, each.time, samples.untracked.at(each.time), each.order});
  return all;
}

std::vector<recording_facts::graph> graphs_of(const index& from) {
  std::vector<recording_facts::graph> all;
  if (from.touches().empty()) return all;
  for (const block_record& block : from.memory().blocks())
    for (const graph_use& use : from.touches().graphs_of(block.id))
      all.push_back({block.id, use, from.touches().graph_copies(use.graph)});
  return all;
}

}  // namespace

recording_facts facts_of_recording(const index& from, const trace::snapshot& of) {
  const time_range span = time_range_of(of);
  const auto tensors = from.tensors(of);
  recording_facts all;
  all.chunks = std::make_shared<const chunk_index>(from.chunks());
  all.memories = memories_of(from, *tensors, span);
  all.pools = pools_of(from, span);
  all.not_tracked = untracked_of(from);
  for (const auto& [key, slices] : from.devices().streams()) all.streams.push_back({key, slices.lanes()});
  for (const auto& [key, work] : from.devices().directions())
    all.directions.push_back({key, work.slices.lanes(), work.rate.highest(span.begin, span.end)});
  for (const auto& [key, work] : from.host().threads())
    all.threads.push_back({key, work.ranges.lanes(), work.calls.lanes()});
  for (const auto& [device, work] : from.devices().devices())
    if (!work.kernels.empty()) all.with_kernels.push_back(device);
  all.graphs = graphs_of(from);
  for (const block_record& block : from.memory().blocks())
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

}  // namespace sluice::analysis
