#include "core/summary/metrics/stored_metrics_builder.hpp"

#include <algorithm>
#include <tuple>

#include "core/base/cancel.hpp"
#include "core/index/event_store.hpp"
#include "core/index/memory/block_ends.hpp"
#include "core/summary/sections/store_blocks.hpp"

namespace sluice::summary {
namespace {

bool goes_before(const metrics::listed_block& a, const metrics::listed_block& b) {
  return a.bytes != b.bytes ? a.bytes > b.bytes : a.block < b.block;
}

}  // namespace

void stored_metrics_builder::add_piece(std::size_t piece, const index::event_store& store, time_range run) {
  if (piece < metrics::metrics_builder::pieces) return metrics_.add_piece(piece, store, run);
  const index::memory_use& use = store.memory();
  // There are few losses, so every section contains all losses so far.
  made_.losses.clear();
  for (const trace::loss_event& row : use.losses()) {
    made_.losses.push_back({bounded(row.time), row.end == trace::unknown_time ? row.end : bounded(row.end), row.events,
                            row.memory_events});
  }
  // Sort the losses, because their order in the file only depends on when chunks were full.
  std::sort(made_.losses.begin(), made_.losses.end(), [](const loss_span& a, const loss_span& b) {
    return std::tie(a.begin, a.end, a.events, a.memory_events) < std::tie(b.begin, b.end, b.events, b.memory_events);
  });
  const time_range part = intersect(scope_.range, run);
  if (part.length() > 0) {
    memory_lister_.add(use, part);
    const metrics::blocks_by_memory blocks = metrics::group_by_memory(use);
    for (const auto& [key, tree] : use.use()) {
      const auto known = blocks.find(key);
      add_memory(key, known == blocks.end() ? std::span<const index::block_record* const>{} : known->second, part);
    }
  }
  list(store, run);
}

void stored_metrics_builder::add_memory(const index::memory_key& key,
                                        std::span<const index::block_record* const> blocks, time_range part) {
  const auto [place, fresh] = memories_.try_emplace(key);
  memory& to = place->second;
  if (fresh) to.allocated.time = to.highest.time = scope_.range.begin;
  to.allocated.join(metrics::allocating_stacks(blocks, part));
  const metrics::held_bytes most = metrics::max_held(blocks, part);
  if (most.bytes > to.highest.bytes) to.highest = most;
}

void stored_metrics_builder::list(const index::event_store& store, time_range run) {
  const store_blocks blocks(store, *scope_.trace);
  for (std::size_t i = 0; i < blocks.records().size(); ++i) {
    const index::block_record& block = blocks.records()[i];
    if (!block.allocated || !index::ends_in(block, run) || !block.live_in(scope_.range)) continue;
    const auto layer = static_cast<std::size_t>(block.layer);
    ++made_.blocks[layer].count;
    made_.blocks[layer].bytes += block.bytes;
    std::vector<metrics::listed_block>& listed_blocks = largest_[layer];
    if (block.bytes < min_listed_[layer]) continue;
    listed_blocks.push_back(blocks.listed(i, blocks.uses_known()));
    if (listed_blocks.size() >= 8 * stored_metrics::block_limit) cut(layer);
  }
  made_.uses_known = made_.uses_known || blocks.uses_known();
}

void stored_metrics_builder::cut(std::size_t layer) {
  std::vector<metrics::listed_block>& blocks = largest_[layer];
  if (blocks.size() <= stored_metrics::block_limit) return;
  const auto last = blocks.begin() + static_cast<std::ptrdiff_t>(stored_metrics::block_limit) - 1;
  std::nth_element(blocks.begin(), last, blocks.end(), goes_before);
  min_listed_[layer] = last->bytes;
  blocks.erase(last + 1, blocks.end());
}

std::vector<time_ns> stored_metrics_builder::moments() {
  std::vector<time_ns> times = metrics_.moments();
  for (const metrics::listed_memory& listed : memory_lister_.list())
    times.push_back(memories_.at(listed.memory).highest.time);
  std::sort(times.begin(), times.end());
  times.erase(std::unique(times.begin(), times.end()), times.end());
  return times;
}

void stored_metrics_builder::revisit(const index::event_store& store, time_range run) {
  metrics_.revisit(store, run);
  for (auto& [key, subject] : memories_)
    if (run.holds(subject.highest.time))
      subject.at_peak = metrics::live_stacks(store.memory(), {key.layer, key.device, key.kind}, subject.highest.time,
                                             never_cancelled);
}

stored_metrics stored_metrics_builder::take() {
  made_.span = scope_.range;
  for (const metrics::listed_memory& listed : memory_lister_.list()) {
    memory& subject = memories_.at(listed.memory);
    made_.memory.push_back({listed, std::move(subject.at_peak), std::move(subject.allocated)});
  }
  for (const auto& [way, use] : metrics_.copied().ways()) made_.copies.push_back({way.first, way.second, use});
  made_.all_copies = metrics_.copied().all();
  made_.metrics = metrics_.take();
  for (const auto& [process, source] : metrics_.steps().sources()) made_.steps.push_back({process, {source, {}}});
  for (std::size_t layer = 0; layer < largest_.size(); ++layer) {
    cut(layer);
    made_.largest.insert(made_.largest.end(), largest_[layer].begin(), largest_[layer].end());
  }
  std::sort(made_.largest.begin(), made_.largest.end(), goes_before);
  return std::move(made_);
}

}  // namespace sluice::summary
