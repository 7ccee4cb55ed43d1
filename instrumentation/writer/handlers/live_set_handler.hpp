#pragma once

#include <cstddef>
#include <cstdint>

#include "instrumentation/ring/records.hpp"
#include "instrumentation/writer/blocks/block_ledger.hpp"
#include "instrumentation/writer/record_decoder/block_writer.hpp"
#include "instrumentation/writer/record_decoder/catalogue.hpp"
#include "instrumentation/writer/record_decoder/checkpoints.hpp"
#include "instrumentation/writer/record_decoder/record_context.hpp"
#include "instrumentation/writer/record_decoder/trace_clock.hpp"
#include "instrumentation/writer/rings/ring_reader.hpp"
#include "instrumentation/writer/rings/turn_clock.hpp"

namespace sluice::writer {

/// By how many blocks a process's unfinished live sets may exceed its live blocks. Larger sets are dropped.
inline constexpr std::size_t max_received_blocks = std::size_t{1} << 21;

/// Handles the live sets (lists of live blocks) that a process sends after it lost memory events, and corrects the
/// ledger of its blocks. Not thread-safe.
class live_set_handler {
 public:
  live_set_handler(catalogue& names, const trace_clock& clock, const turn_clock& now, block_writer& blocks,
                   checkpoints& checkpoints)
      : names_(names), clock_(clock), now_(now), blocks_(blocks), checkpoints_(checkpoints) {}

  /// Handles records of live sets. Returns false for any other record.
  bool handle(const record_context& c, const record_view& record);

  /// Handles the declaration of a pool. Pools of the program send live sets of their own.
  void handle_pool(const record_context& c, const ring::pool_record& r);

 private:
  enum class set_state : std::uint8_t { unknown, incomplete, complete, dropped };

  void handle_live_set(const record_context& c, const record_view& record);
  void handle_pool_live_set(const record_context& c, const record_view& record);
  void handle_live_sets_complete(const record_context& c, const ring::live_sets_complete_record& r);
  template <class Record>
  set_state receive(const record_context& c, const record_view& record, const Record& r, block_ledger::known_set& set);
  ring::layer_bits reconcile(const record_context& c, const block_ledger::known_set& set);

  catalogue& names_;
  const trace_clock& clock_;
  const turn_clock& now_;
  block_writer& blocks_;
  checkpoints& checkpoints_;
};

}  // namespace sluice::writer
