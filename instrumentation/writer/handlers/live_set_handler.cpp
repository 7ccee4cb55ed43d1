#include "instrumentation/writer/handlers/live_set_handler.hpp"

#include <algorithm>
#include <array>
#include <unordered_set>
#include <utility>

#include "instrumentation/writer/handlers/record_words.hpp"

namespace sluice::writer {

using namespace trace;

namespace {

/// Returns the collected set and empties `set`.
block_ledger::known_set take_out(recorded_process& process, block_ledger::known_set& set) {
  process.received_blocks -= set.blocks.size();
  return std::exchange(set, {});
}

}  // namespace

bool live_set_handler::handle(const record_context& c, const record_view& record) {
  switch (record.type) {
    case ring::record_type::live_set:
      handle_live_set(c, record);
      return true;
    case ring::record_type::pool_live_set:
      handle_pool_live_set(c, record);
      return true;
    case ring::record_type::live_sets_complete:
      handle_live_sets_complete(c, decode<ring::live_sets_complete_record>(record));
      return true;
    default:
      return false;
  }
}

/// Adds the blocks of one record to the set that is being sent.
template <class Record>
live_set_handler::set_state live_set_handler::receive(const record_context& c, const record_view& record,
                                                      const Record& r, block_ledger::known_set& set) {
  constexpr std::size_t words_per_block = 3;
  if (r.last == ring::live_set_begins) {
    (void)take_out(c.process, set);
    set.time = c.time;
  }
  if (set.time == unknown_time) return set_state::unknown;
  const std::size_t count = count_groups_after<Record, words_per_block>(record, r.count);
  if (c.process.received_blocks + count > c.process.blocks.live_blocks() + max_received_blocks) {
    (void)take_out(c.process, set);
    return set_state::dropped;
  }
  c.process.received_blocks += count;
  for_each_group_after<Record, words_per_block>(record, r.count, [&](const auto& words) {
    block_ledger::known_block block;
    block.address = words[0];
    block.bytes = words[1];
    block.layer = checked<layer>(static_cast<std::uint8_t>(words[2]));
    block.kind = checked<memory_kind>(static_cast<std::uint8_t>(words[2] >> 8));
    block.device = names_.device(c.process.names, static_cast<std::uint32_t>(words[2] >> 16));
    set.blocks.push_back(block);
  });
  return r.last == ring::live_set_ends ? set_state::complete : set_state::incomplete;
}

/// Corrects the ledger. Returns the layers of which the set says nothing.
ring::layer_bits live_set_handler::reconcile(const record_context& c, const block_ledger::known_set& set) {
  const ring::layer_bits skipped = c.process.blocks.reconcile(set, c.process.names.id, now_, blocks_.begin());
  blocks_.write();
  return skipped;
}

void live_set_handler::handle_live_set(const record_context& c, const record_view& record) {
  const auto r = decode<ring::live_set_record>(record);
  recorded_process& process = c.process;
  if (receive(c, record, r, process.live_set) != set_state::complete) return;
  // Sent by the capture library, which sees the driver's pools, but not the blocks in the program's own pools.
  block_ledger::known_set set = take_out(process, process.live_set);
  set.others = catalogue::pools_of_program(process.names);
  ring::layer_bits in_doubt = reconcile(c, set);
  // A producer without a copy number may also have lost events of these pools.
  if (c.copy == 0 && !set.others.empty()) in_doubt |= ring::layer_bit(layer::pool);
  if ((c.flags & ring::flag_estimated) == 0)
    process.doubts.settle(c.copy, ring::all_layers & ~in_doubt, set.time - in_motion(now_));
  checkpoints_.request(c.time);
}

void live_set_handler::handle_pool(const record_context& c, const ring::pool_record& r) {
  names_.define(c.process.names, r);
  if (r.layer != static_cast<std::uint8_t>(layer::pool)) return;  // A pool of the driver.
  listed_pool& pool = c.process.listed_pools[r.pool];
  pool = {c.copy, std::max(pool.last, c.time)};
}

/// A pool's own live set. It does not make totals exact again, because sets of other pools may be missing.
void live_set_handler::handle_pool_live_set(const record_context& c, const record_view& record) {
  const auto r = decode<ring::pool_live_set_record>(record);
  recorded_process& process = c.process;
  const auto sent = process.pool_live_sets.try_emplace(r.pool).first;
  const set_state state = receive(c, record, r, sent->second);
  if (state == set_state::incomplete) return;
  block_ledger::known_set set = take_out(process, sent->second);
  process.pool_live_sets.erase(sent);
  if (state == set_state::dropped && std::ranges::find(process.dropped, c.copy) == process.dropped.end())
    process.dropped.push_back(c.copy);
  if (state != set_state::complete) return;
  set.pool = names_.pool(process.names, r.pool);
  (void)reconcile(c, set);
  process.listed_pools[r.pool] = {c.copy, set.time};
  // One checkpoint covers all sets.
  checkpoints_.request(c.time);
}

/// Handles the record which says that a copy of the runtime has sent the sets of all its pools.
void live_set_handler::handle_live_sets_complete(const record_context& c, const ring::live_sets_complete_record& r) {
  recorded_process& process = c.process;
  if (std::erase(process.dropped, c.copy) != 0) return;  // A set was dropped, so not all sets are known.
  const time_ns since = clock_.convert(c, r.since);
  std::unordered_set<pool_id> gone;
  std::erase_if(process.listed_pools, [&](const auto& listed) {
    const auto& [key, pool] = listed;
    if (pool.copy != c.copy || pool.last >= since) return false;
    gone.insert(names_.pool(process.names, key));
    const auto unfinished = process.pool_live_sets.find(key);
    if (unfinished != process.pool_live_sets.end()) {
      (void)take_out(process, unfinished->second);
      process.pool_live_sets.erase(unfinished);
    }
    return true;
  });
  process.blocks.end_pools(gone, since, now_, blocks_.begin());
  blocks_.write();
  process.doubts.settle(c.copy, ring::layer_bit(layer::pool), since - in_motion(now_));
  checkpoints_.request(c.time);
}

}  // namespace sluice::writer
