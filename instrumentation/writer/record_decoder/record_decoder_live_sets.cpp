// Handles the live sets that a process sends after it lost memory events.
#include <algorithm>
#include <cstring>
#include <unordered_set>
#include <utility>

#include "instrumentation/writer/record_decoder/record_decoder.hpp"

namespace sluice::writer {

using namespace trace;

namespace {

/// Returns the collected set and empties `set`.
received_set take_out(recorded_process& process, received_set& set) {
  process.received_blocks -= set.blocks.size();
  return std::exchange(set, {});
}

}  // namespace

template <class Record>
record_decoder::set_state record_decoder::take_part(const context& c, const record_view& record, const Record& r,
                                                    received_set& set) {
  if (r.last == ring::live_set_begins) {
    (void)take_out(c.process, set);
    set.from = c.time;
  }
  if (set.from == unknown_time) return set_state::unknown;
  const std::span<const std::byte> words = record.bytes.subspan(std::min(record.bytes.size(), sizeof r));
  const std::size_t count = std::min<std::size_t>(r.count, words.size() / (3 * sizeof(std::uint64_t)));
  if (c.process.received_blocks + count > c.process.blocks.live_blocks() + max_received_blocks) {
    (void)take_out(c.process, set);
    return set_state::dropped;
  }
  c.process.received_blocks += count;
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t word[3];
    std::memcpy(word, words.data() + i * sizeof word, sizeof word);
    block_ledger::known_block block;
    block.address = word[0];
    block.bytes = word[1];
    block.layer = checked<layer>(static_cast<std::uint8_t>(word[2]));
    block.kind = checked<memory_kind>(static_cast<std::uint8_t>(word[2] >> 8));
    block.device = names_.device(c.process.names, static_cast<std::uint32_t>(word[2] >> 16));
    set.blocks.push_back(block);
  }
  return r.last == ring::live_set_ends ? set_state::ended : set_state::coming;
}

void record_decoder::on_live_set(const context& c, const record_view& record) {
  const auto r = decode<ring::live_set_record>(record);
  recorded_process& process = c.process;
  if (take_part(c, record, r, process.live_set) != set_state::ended) return;
  // Sent by the capture library, which sees the driver's pools, but not the blocks in the program's own pools.
  const received_set set = take_out(process, process.live_set);
  const block_ledger::set_scope scope{.others = catalogue::pools_of_program(process.names)};
  ring::layer_bits in_doubt = process.blocks.reconcile(set.blocks, scope, process.names.id, set.from, now_);
  // A producer without a copy number may also have lost events of these pools.
  if (c.copy == 0 && !scope.others.empty()) in_doubt |= ring::layer_bit(layer::pool);
  if ((c.flags & ring::flag_estimated) == 0)
    process.doubts.settle(c.copy, ring::all_layers & ~in_doubt, set.from - in_motion(now_));
  loss_until_ = std::max(loss_until_, c.time);
}

void record_decoder::on(const context& c, const ring::pool_record& r) {
  names_.define(c.process.names, r);
  if (r.layer != static_cast<std::uint8_t>(layer::pool)) return;  // A pool of the driver.
  listed_pool& pool = c.process.listed_pools[r.pool];
  pool = {c.copy, std::max(pool.last, c.time)};
}

/// A pool's own live set. It does not make totals exact again, because sets of other pools may be missing.
void record_decoder::on_pool_live_set(const context& c, const record_view& record) {
  const auto r = decode<ring::pool_live_set_record>(record);
  recorded_process& process = c.process;
  const auto place = process.pool_live_sets.try_emplace(r.pool).first;
  const set_state state = take_part(c, record, r, place->second);
  if (state == set_state::coming) return;
  const received_set set = take_out(process, place->second);
  process.pool_live_sets.erase(place);
  if (state == set_state::dropped && std::ranges::find(process.dropped, c.copy) == process.dropped.end())
    process.dropped.push_back(c.copy);
  if (state != set_state::ended) return;
  const block_ledger::set_scope scope{.pool = names_.pool(process.names, r.pool)};
  (void)process.blocks.reconcile(set.blocks, scope, process.names.id, set.from, now_);
  process.listed_pools[r.pool] = {c.copy, set.from};
  // One checkpoint covers all sets.
  loss_until_ = std::max(loss_until_, c.time);
}

/// Handles the record which says that a copy of the runtime has sent the sets of all its pools.
void record_decoder::on(const context& c, const ring::live_sets_complete_record& r) {
  recorded_process& process = c.process;
  if (std::erase(process.dropped, c.copy) != 0) return;  // A set was dropped, so not all sets are known.
  const time_ns since = convert(c, r.since);
  std::unordered_set<pool_id> gone;
  std::erase_if(process.listed_pools, [&](const auto& entry) {
    const listed_pool& pool = entry.second;
    if (pool.copy != c.copy || pool.last >= since) return false;
    gone.insert(names_.pool(process.names, entry.first));
    const auto coming = process.pool_live_sets.find(entry.first);
    if (coming != process.pool_live_sets.end()) {
      (void)take_out(process, coming->second);
      process.pool_live_sets.erase(coming);
    }
    return true;
  });
  process.blocks.end_pools(gone, since, now_);
  process.doubts.settle(c.copy, ring::layer_bit(layer::pool), since - in_motion(now_));
  loss_until_ = std::max(loss_until_, c.time);
}

}  // namespace sluice::writer
