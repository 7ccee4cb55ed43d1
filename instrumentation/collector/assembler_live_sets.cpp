// What a process says is live, after memory events of its own were lost.
#include <algorithm>
#include <cstring>

#include "instrumentation/collector/assembler.hpp"

namespace sluice::collector {

using namespace trace;

/// True if that was the last part.
template <class Record>
bool assembler::take_part(const context& c, const record_view& record, const Record& r, told_set& set) {
  if (r.last == live_set_begins) {
    set.blocks.clear();
    set.from = c.time;
  }
  if (set.from == unknown_time) return false;
  const std::span<const std::byte> words = record.bytes.subspan(std::min(record.bytes.size(), sizeof r));
  const std::size_t count = std::min<std::size_t>(r.count, words.size() / (3 * sizeof(std::uint64_t)));
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t word[3];
    std::memcpy(word, words.data() + i * sizeof word, sizeof word);
    block_ledger::known_block block;
    block.address = word[0];
    block.bytes = word[1];
    block.level = checked<layer>(static_cast<std::uint8_t>(word[2]));
    block.kind = checked<memory_kind>(static_cast<std::uint8_t>(word[2] >> 8));
    block.device = names_.device(c.process.names, static_cast<std::uint32_t>(word[2] >> 16));
    set.blocks.push_back(block);
  }
  return r.last == live_set_ends;
}

void assembler::on_live_set(const context& c, const record_view& record) {
  const auto r = decode<live_set_record>(record);
  recorded_process& process = c.process;
  if (!take_part(c, record, r, process.live_set)) return;
  // It comes from the capture library, which sees the driver's pools, and not what the program's own make of their memory.
  const told_set set = std::exchange(process.live_set, {});
  const block_ledger::set_scope scope{.others = catalogue::pools_of_program(process.names)};
  const bool all = process.blocks.reconcile(set.blocks, scope, process.names.id, set.from, now_);
  process.reconciled = set.from;
  process.inexact = process.inexact && (!all || (c.flags & flag_estimated) != 0);
  write_checkpoint(c.time);
}

/// From whoever has the pool. Whether totals are exact again it cannot say: not all of them may have told theirs.
void assembler::on_pool_live_set(const context& c, const record_view& record) {
  const auto r = decode<pool_live_set_record>(record);
  recorded_process& process = c.process;
  told_set& coming = process.pool_live_sets[r.pool];
  if (!take_part(c, record, r, coming)) return;
  const told_set set = std::exchange(coming, {});
  const block_ledger::set_scope scope{.pool = names_.pool(process.names, r.pool)};
  (void)process.blocks.reconcile(set.blocks, scope, process.names.id, set.from, now_);
  // One checkpoint for the sets of all pools.
  loss_until_ = std::max(loss_until_, c.time);
}

}  // namespace sluice::collector
