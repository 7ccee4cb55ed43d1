// Corrects the live set after a loss, using a set that the process sends.
#include <algorithm>
#include <unordered_map>

#include "instrumentation/writer/blocks/block_ledger.hpp"

namespace sluice::writer {

using namespace trace;

ring::layer_bits block_ledger::reconcile(const std::vector<known_block>& live, const set_scope& scope,
                                         process_id process, time_ns from, const turn_clock& now) {
  const time_ns still_moves = from - in_motion(now);
  const bool one_pool = scope.pool != pool_id::none;
  std::array<std::unordered_map<std::uint64_t, const known_block*>, layer_count * spaces> named;
  std::array<bool, layer_count> known_layer{true};
  for (const known_block& block : live) {
    named[place_of(block.layer, block.kind)][block.address] = &block;
    known_layer[static_cast<std::size_t>(block.layer)] = true;
  }
  if (one_pool) known_layer[static_cast<std::size_t>(layer::pool)] = true;

  const auto is_others = [&](const alloc_event& block) {
    return one_pool ? block.pool != scope.pool : scope.others.contains(block.pool);
  };
  ring::layer_bits left_alone = 0;
  std::vector<alloc_event> gone;
  for (std::size_t place = 0; place < live_.size(); ++place) {
    const bool known = known_layer[place / spaces];
    live_[place].for_each([&](const alloc_event& block) {
      if (is_others(block)) return;
      if (!known) left_alone |= ring::layer_bit(block.layer);
      if (!known || block.time > still_moves) return;
      const auto found = named[place].find(block.address);
      const bool same = found != named[place].end() && (found->second->bytes == block.bytes || block.bytes == 0);
      const auto use = physical_.find(block.address);
      const bool held = block.kind == memory_kind::physical && use != physical_.end() && use->second.mappings != 0;
      if (!same && !held) gone.push_back(block);
    });
  }
  end_unnamed(gone, from);
  for (const known_block& block : live) {
    const std::size_t place = place_of(block.layer, block.kind);
    if (live_[place].find(block.address) != nullptr) continue;
    const retired_block* freed = retired_.find(block.address);
    if (freed != nullptr && freed->when > still_moves) continue;
    alloc_event row;
    row.time = from;
    row.process = process;
    row.source = provenance::inferred;
    row.layer = block.layer;
    row.kind = block.kind;
    row.device = block.device;
    row.address = block.address;
    row.bytes = block.bytes;
    row.pool = scope.pool;
    row.flags = born_before;
    add(row, {}, now);
  }
  end_orphans(from, still_moves);
  return left_alone;
}

void block_ledger::end_pools(const std::unordered_set<pool_id>& pools, time_ns when, const turn_clock& now) {
  if (pools.empty()) return;
  const time_ns still_moves = when - in_motion(now);
  std::vector<alloc_event> gone;
  for_each_live([&](const alloc_event& block) {
    if (block.layer == layer::pool && block.time <= still_moves && pools.contains(block.pool)) gone.push_back(block);
  });
  end_unnamed(gone, when);
  end_orphans(when, still_moves);
}

void block_ledger::end_unnamed(const std::vector<alloc_event>& gone, time_ns when) {
  for (const alloc_event& block : gone) {
    const std::size_t place = place_of(block.layer, block.kind);
    if (block.kind == memory_kind::mapping) {
      free_request request;
      request.row.time = when;
      let_go_of_physical(request, block);
    }
    held_again_.erase(block.block);
    end_by_inference(block, when);
    retire(block, place, when);
    erase(place, block);
  }
}

/// Frees user blocks whose enclosing block is no longer live, unless an unrecorded newer block there may contain them.
void block_ledger::end_orphans(time_ns when, time_ns still_moves) {
  std::unordered_set<block_id> live;
  for_each_live([&](const alloc_event& block) { live.insert(block.block); });
  std::vector<alloc_event> orphans;
  for (std::size_t place = place_of(layer::user, {}); place < live_.size(); ++place) {
    live_[place].for_each([&](const alloc_event& block) {
      if (block.time > still_moves || block.parent == block_id::none || live.contains(block.parent)) return;
      const alloc_event* there = find_in(occupied_ & below(block.layer), block.address);
      const bool unseen = there != nullptr && there->source == provenance::inferred && there->time > block.time;
      if (!unseen) orphans.push_back(block);
    });
  }
  for (const alloc_event& block : orphans) {
    const std::size_t place = place_of(block.layer, block.kind);
    end_by_inference(block, when);
    retire(block, place, when);
    erase(place, block);
  }
}

}  // namespace sluice::writer
