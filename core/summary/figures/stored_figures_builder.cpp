#include "core/summary/figures/stored_figures_builder.hpp"

#include <algorithm>
#include <tuple>

#include "core/base/cancel.hpp"
#include "core/index/index.hpp"
#include "core/index/memory/block_ends.hpp"

namespace sluice::analysis {
namespace {

bool goes_before(const listed_block& a, const listed_block& b) {
  return a.bytes != b.bytes ? a.bytes > b.bytes : a.block < b.block;
}

}  // namespace

void stored_figures_builder::add_piece(std::size_t piece, const index& from, time_range run) {
  if (piece < figures_builder::pieces) return figures_.add_piece(piece, from, run);
  const memory_use& of = from.memory();
  // There are few losses, so the index of any section has all of them so far.
  made_.losses.clear();
  for (const trace::loss_event& row : of.losses()) {
    made_.losses.push_back({bounded(row.time), row.end == trace::unknown_time ? row.end : bounded(row.end), row.events,
                            row.memory_events});
  }
  // In the file they are where a chunk was full, which says nothing.
  std::sort(made_.losses.begin(), made_.losses.end(), [](const loss_span& a, const loss_span& b) {
    return std::tie(a.begin, a.end, a.events, a.memory_events) < std::tie(b.begin, b.end, b.events, b.memory_events);
  });
  const time_range part = common_of(scope_.range, run);
  if (part.length() > 0) {
    memory_lister_.add(of, part);
    const blocks_by_memory blocks = group_by_memory(of);
    for (const auto& [key, tree] : of.use()) {
      const auto known = blocks.find(key);
      add_memory(key, known == blocks.end() ? std::span<const block_record* const>{} : known->second, part);
    }
  }
  list(from, run);
}

void stored_figures_builder::add_memory(const memory_key& key, std::span<const block_record* const> blocks,
                                        time_range part) {
  const auto [place, fresh] = memories_.try_emplace(key);
  memory& to = place->second;
  if (fresh) to.allocated.time = to.highest.time = scope_.range.begin;
  to.allocated.join(allocating_stacks(blocks, part));
  const held_bytes most = most_held(blocks, part);
  if (most.bytes > to.highest.bytes) to.highest = most;
}

void stored_figures_builder::list(const index& from, time_range run) {
  const auto facts = from.tensors(*scope_.trace);
  const std::span<const block_record> blocks = from.memory().blocks();
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const block_record& block = blocks[i];
    if (!block.allocated || !ends_in(block, run) || !block.live_in(scope_.range)) continue;
    const auto layer = static_cast<std::size_t>(block.layer);
    ++made_.blocks[layer].count;
    made_.blocks[layer].bytes += block.bytes;
    std::vector<listed_block>& all = largest_[layer];
    if (block.bytes < least_listed_[layer]) continue;
    all.push_back(listed(block, i < facts->categories.size() ? facts->categories[i] : block_category{}));
    if (!from.touches().empty()) all.back().set_uses(from.touches().of(block));
    if (all.size() >= 8 * stored_figures::block_limit) cut(layer);
  }
  made_.uses_known = made_.uses_known || !from.touches().empty();
}

void stored_figures_builder::cut(std::size_t layer) {
  std::vector<listed_block>& all = largest_[layer];
  if (all.size() <= stored_figures::block_limit) return;
  const auto last = all.begin() + static_cast<std::ptrdiff_t>(stored_figures::block_limit) - 1;
  std::nth_element(all.begin(), last, all.end(), goes_before);
  least_listed_[layer] = last->bytes;
  all.erase(last + 1, all.end());
}

std::vector<time_ns> stored_figures_builder::moments() {
  std::vector<time_ns> all = figures_.moments();
  for (const listed_memory& listed : memory_lister_.list()) all.push_back(memories_.at(listed.of).highest.time);
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

void stored_figures_builder::look(const index& from, time_range run) {
  figures_.look(from, run);
  for (auto& [key, of] : memories_)
    if (run.holds(of.highest.time))
      of.at_peak = live_stacks(from.memory(), {key.layer, key.device, key.kind}, of.highest.time, never_cancelled);
}

stored_figures stored_figures_builder::take() {
  made_.span = scope_.range;
  for (const listed_memory& listed : memory_lister_.list()) {
    memory& of = memories_.at(listed.of);
    made_.memory.push_back({listed, std::move(of.at_peak), std::move(of.allocated)});
  }
  for (const auto& [way, use] : figures_.copied().ways()) made_.copies.push_back({way.first, way.second, use});
  made_.all_copies = figures_.copied().all();
  made_.figures = figures_.take();
  for (const auto& [process, source] : figures_.steps().sources()) made_.steps.push_back({process, {source, {}}});
  for (std::size_t layer = 0; layer < largest_.size(); ++layer) {
    cut(layer);
    made_.largest.insert(made_.largest.end(), largest_[layer].begin(), largest_[layer].end());
  }
  std::sort(made_.largest.begin(), made_.largest.end(), goes_before);
  return std::move(made_);
}

}  // namespace sluice::analysis
