// Corrects the live set after a loss, using a set that the process sends.
#include <algorithm>
#include <array>
#include <unordered_map>

#include "instrumentation/writer/blocks/block_ledger.hpp"

namespace sluice::writer {

using namespace trace;

ring::layer_bits block_ledger::reconcile(const known_set& live, process_id process, const turn_clock& now,
                                         block_rows& rows) {
  const time_ns unchanged_since = live.time - in_motion(now);
  ring::layer_bits skipped = 0;
  end_missing(missing_blocks(live, unchanged_since, skipped), live.time, rows);
  for (const known_block& block : live.blocks) {
    const std::size_t table = live_block_tables::table_number(block.layer, block.kind);
    if (live_.find(table, block.address) != nullptr) continue;
    const freed_block* freed = freed_.find(block.address);
    if (freed != nullptr && freed->freed > unchanged_since) continue;
    alloc_event row;
    row.time = live.time;
    row.process = process;
    row.source = provenance::inferred;
    row.layer = block.layer;
    row.kind = block.kind;
    row.device = block.device;
    row.address = block.address;
    row.bytes = block.bytes;
    row.pool = live.pool;
    row.flags = born_before;
    const std::size_t before = rows.size();
    if (add(row, {}, now, rows)) rows.insert(before, row);
  }
  end_orphans(live.time, unchanged_since, rows);
  return skipped;
}

/// The live blocks that the set should contain but does not. `skipped`: the layers with live blocks about which the set
/// says nothing.
std::vector<alloc_event> block_ledger::missing_blocks(const known_set& live, time_ns unchanged_since,
                                                      ring::layer_bits& skipped) const {
  const bool one_pool = live.pool != pool_id::none;
  std::array<std::unordered_map<std::uint64_t, const known_block*>, live_block_tables::table_count> listed;
  std::array<bool, layer_count> known_layer{true};
  for (const known_block& block : live.blocks) {
    listed[live_block_tables::table_number(block.layer, block.kind)][block.address] = &block;
    known_layer[static_cast<std::size_t>(block.layer)] = true;
  }
  if (one_pool) known_layer[static_cast<std::size_t>(layer::pool)] = true;

  const auto in_another_pool = [&](const alloc_event& block) {
    return one_pool ? block.pool != live.pool : live.others.contains(block.pool);
  };
  std::vector<alloc_event> missing;
  for (std::size_t table = 0; table < live_block_tables::table_count; ++table) {
    const bool known = known_layer[table / live_block_tables::tables_per_layer];
    live_.for_each_in(table, [&](const alloc_event& block) {
      if (in_another_pool(block)) return;
      if (!known) skipped |= ring::layer_bit(block.layer);
      if (!known || block.time > unchanged_since) return;
      const auto found = listed[table].find(block.address);
      const bool same = found != listed[table].end() && (found->second->bytes == block.bytes || block.bytes == 0);
      const bool mapped = block.kind == memory_kind::physical && physical_.is_mapped(block.address);
      if (!same && !mapped) missing.push_back(block);
    });
  }
  return missing;
}

void block_ledger::end_pools(const std::unordered_set<pool_id>& pools, time_ns time, const turn_clock& now,
                             block_rows& rows) {
  if (pools.empty()) return;
  const time_ns unchanged_since = time - in_motion(now);
  std::vector<alloc_event> ended;
  live_.for_each([&](const alloc_event& block) {
    if (block.layer == layer::pool && block.time <= unchanged_since && pools.contains(block.pool))
      ended.push_back(block);
  });
  end_missing(ended, time, rows);
  end_orphans(time, unchanged_since, rows);
}

void block_ledger::end_missing(const std::vector<alloc_event>& missing, time_ns time, block_rows& rows) {
  for (const alloc_event& block : missing) {
    if (block.kind == memory_kind::mapping) end_mapping(block, time, rows);
    more_uses_.erase(block.block);
    end_block(block, time, rows);
  }
}

/// Frees user blocks whose enclosing block is no longer live, unless an unrecorded newer block there may contain them.
void block_ledger::end_orphans(time_ns time, time_ns unchanged_since, block_rows& rows) {
  std::unordered_set<block_id> live;
  live_.for_each([&](const alloc_event& block) { live.insert(block.block); });
  std::vector<alloc_event> orphans;
  constexpr std::size_t first = live_block_tables::table_number(layer::user, {});
  for (std::size_t table = first; table < live_block_tables::table_count; ++table) {
    live_.for_each_in(table, [&](const alloc_event& block) {
      if (block.time > unchanged_since || block.parent == block_id::none || live.contains(block.parent)) return;
      const alloc_event* there = live_.innermost_below(block.layer, block.address);
      const bool unseen = there != nullptr && there->source == provenance::inferred && there->time > block.time;
      if (!unseen) orphans.push_back(block);
    });
  }
  for (const alloc_event& block : orphans) end_block(block, time, rows);
}

}  // namespace sluice::writer
