#include "instrumentation/writer/blocks/unmatched_frees.hpp"

#include <algorithm>

namespace sluice::writer {

using namespace trace;

free_event inferred_free(const alloc_event& block, time_ns time) {
  free_event row;
  row.time = time;
  row.process = block.process;
  row.source = provenance::inferred;
  row.block = block.block;
  row.layer = block.layer;
  row.address = block.address;
  return row;
}

void unmatched_frees::add_free(std::size_t table, const free_event& row, const turn_clock& now) {
  frees_.emplace(address_key{table, row.address}, waiting_free{row, now});
}

std::optional<free_event> unmatched_frees::take_free(std::size_t table, const alloc_event& block) {
  const auto [first, last] = frees_.equal_range({table, block.address});
  for (auto waiting = first; waiting != last; ++waiting) {
    const free_event row = waiting->second.row;
    if (row.time < block.time) continue;
    frees_.erase(waiting);
    return row;
  }
  return std::nullopt;
}

bool unmatched_frees::complete(layer layer, std::uint64_t address, time_ns time, const turn_clock& now) {
  const auto found = std::find_if(frees_.begin(), frees_.end(), [&](const auto& waiting) {
    const free_event& row = waiting.second.row;
    return row.address == address && may_complete(layer, row.layer);
  });
  if (found == frees_.end()) return false;
  found->second.row.completed = time;
  found->second.since = now;
  return true;
}

void unmatched_frees::add_block(std::size_t table, const alloc_event& block, time_ns replaced, const turn_clock& now) {
  blocks_.emplace(address_key{table, block.address}, replaced_block{block, replaced, now});
}

std::optional<block_id> unmatched_frees::take_block(std::size_t table, const free_event& row) {
  const auto [first, last] = blocks_.equal_range({table, row.address});
  for (auto waiting = first; waiting != last; ++waiting) {
    const alloc_event& block = waiting->second.block;
    if (row.time < block.time) continue;
    const block_id id = block.block;
    blocks_.erase(waiting);
    return id;
  }
  return std::nullopt;
}

void unmatched_frees::settle(const turn_clock& now, bool everything, free_completions& completions, block_rows& rows) {
  std::erase_if(blocks_, [&](const auto& waiting) {
    const replaced_block& replaced = waiting.second;
    if (!everything && !now.is_over(replaced.since)) return false;
    completions.write(inferred_free(replaced.block, replaced.replaced), rows);
    return true;
  });
  std::erase_if(frees_, [&](const auto& waiting) {
    if (!everything && !now.is_over(waiting.second.since)) return false;
    completions.write(waiting.second.row, rows);  // The allocation was not recorded.
    return true;
  });
}

}  // namespace sluice::writer
