#pragma once

#include <cstdint>

#include "core/trace/file/writer.hpp"
#include "core/trace/model/model.hpp"
#include "instrumentation/ring/record_classes.hpp"
#include "instrumentation/writer/record_decoder/checkpoints.hpp"
#include "instrumentation/writer/record_decoder/record_context.hpp"
#include "instrumentation/writer/record_decoder/recorded_process.hpp"
#include "instrumentation/writer/record_decoder/trace_clock.hpp"
#include "instrumentation/writer/rings/ring_reader.hpp"

namespace sluice::writer {

/// Writes and counts the events that were lost before they reached the file. A loss of allocations or frees makes the
/// live set of its process inexact, and a checkpoint follows. Not thread-safe.
class loss_log {
 public:
  loss_log(trace::file_writer& file, const process_list& processes, const trace_clock& clock, checkpoints& checkpoints)
      : file_(file), processes_(processes), clock_(clock), checkpoints_(checkpoints) {}

  /// Adds a loss of one producer copy. `layers`: the layers of lost memory events, one bit each; 0: unknown.
  void add(recorded_process& process, trace::loss_event loss, std::uint32_t copy, ring::layer_bits layers);

  /// Counts a loss that a ring reports by a record, so that `add_unreported` does not add it again.
  static void count_reported(ring_source& ring, const record_view& record);
  /// Adds losses that a ring never reported, because its owner ended or the ring stayed full.
  void add_unreported(ring_source& ring, const ring_reader::losses& lost);
  /// Adds losses of threads without a ring, which one ring of their process counts.
  void add_ringless(ring_source& ring, const ring_reader::losses& lost);
  /// Adds losses that a process without a ring reported (see `loss_note`).
  void add_ringless(recorded_process& process, std::uint64_t events, std::uint64_t memory_events);
  /// Adds a loss for a ring with invalid records, of which nothing more is read.
  void add_broken(ring_source& ring);
  /// Counts the losses `lost` of a full disk, which are in the file already.
  void count_dropped(const trace::dropped_rows& lost);

  /// Adds the loss of a record that names an unknown pool_stream. `write_streamless` writes it.
  void add_streamless(const record_context& c);
  /// Writes at most one such loss per process and copy. Call it once per turn.
  void write_streamless() {
    if (streamless_) write_all_streamless();
  }

  [[nodiscard]] std::uint64_t events() const { return events_; }
  [[nodiscard]] std::uint64_t memory_events() const { return memory_events_; }

 private:
  void write_all_streamless();

  trace::file_writer& file_;
  const process_list& processes_;
  const trace_clock& clock_;
  checkpoints& checkpoints_;
  std::uint64_t events_ = 0;
  std::uint64_t memory_events_ = 0;
  bool streamless_ = false;           ///< True if unknown pool_streams were used since the last turn.
  bool streamless_reported_ = false;  ///< True after a message about unknown pool_streams was written.
};

}  // namespace sluice::writer
