#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/trace/file/writer.hpp"
#include "core/trace/model/model.hpp"
#include "instrumentation/writer/decoder/record_queue.hpp"
#include "instrumentation/writer/decoder/ring_file.hpp"
#include "instrumentation/writer/handlers/declaration_handler.hpp"
#include "instrumentation/writer/handlers/graph_handler.hpp"
#include "instrumentation/writer/handlers/host_handler.hpp"
#include "instrumentation/writer/handlers/live_set_handler.hpp"
#include "instrumentation/writer/handlers/memory_handler.hpp"
#include "instrumentation/writer/handlers/sample_handler.hpp"
#include "instrumentation/writer/handlers/work_handler.hpp"
#include "instrumentation/writer/record_decoder/block_writer.hpp"
#include "instrumentation/writer/record_decoder/call_stacks.hpp"
#include "instrumentation/writer/record_decoder/catalogue.hpp"
#include "instrumentation/writer/record_decoder/checkpoints.hpp"
#include "instrumentation/writer/record_decoder/dump_requests.hpp"
#include "instrumentation/writer/record_decoder/failed_requests.hpp"
#include "instrumentation/writer/record_decoder/loss_log.hpp"
#include "instrumentation/writer/record_decoder/messages.hpp"
#include "instrumentation/writer/record_decoder/recorded_process.hpp"
#include "instrumentation/writer/record_decoder/trace_clock.hpp"
#include "instrumentation/writer/rings/clock_line.hpp"
#include "instrumentation/writer/rings/ring_reader.hpp"
#include "instrumentation/writer/rings/turn_clock.hpp"

namespace sluice::writer {

struct record_decoder_options {
  bool simulated = false;
  std::size_t checkpoint_every = 65536;
  std::uint64_t ring_bytes = 0;  ///< Keep only the last part, in a file of about this many bytes; 0: keep all.
  bool notice_failures = false;  ///< Request a dump when an allocation fails.
  std::size_t table_bytes = table_budget::usual_bytes;  ///< Memory limit for all declarations.
  std::uint64_t max_device_bytes = 0;                   ///< Request a dump if more is in use (bytes); 0: never.
};

/// Turns the records of rings into rows of a trace: sorts them by time, assigns ids, joins related records,
/// tracks the live set and writes checkpoints of it. In each turn, call `take` for each ring, then `advance`.
/// Records are written one turn after they were taken, because all earlier records have been taken by then,
/// too; so the records of all threads are merged by time. Not thread-safe.
class record_decoder {
 public:
  /// `file` must outlive this object. `start`: the clocks at time 0 of the trace.
  record_decoder(trace::file_writer& file, const clock_anchor& start, const record_decoder_options& options);
  record_decoder(const record_decoder&) = delete;
  record_decoder& operator=(const record_decoder&) = delete;

  recorded_process& add_process(const producer_identity& identity, std::uint64_t pid);
  /// Sets the identity of a process that was added before it sent anything.
  void identify(recorded_process& process, const producer_identity& identity) {
    names_.identify(process.names, identity);
  }
  /// Writes the row of a process again after a change.
  void update(const recorded_process& process) { names_.update_process(process.names); }

  /// Drains up to `most` bytes of `reader`. `ring` must live until `advance`. Errors: corrupt; then stop using `ring`.
  result<std::size_t> take(ring_source& ring, ring_reader& reader, std::size_t most = ring::maximum_ring_bytes) {
    return queue_.take(ring, reader, most);
  }

  /// Adds losses that a ring never reported, because its owner ended or the ring stayed full. Call after `advance`.
  void take_unreported_loss(ring_source& ring, const ring_reader::losses& lost) { losses_.add_unreported(ring, lost); }

  /// Adds losses of threads without a ring, which one ring of their process counts. Call after `advance`.
  void take_ringless_loss(ring_source& ring, const ring_reader::losses& lost) { losses_.add_ringless(ring, lost); }

  /// Adds losses that a process without a ring reported (see `loss_note`).
  void add_unreported_loss(recorded_process& process, std::uint64_t events, std::uint64_t memory_events) {
    losses_.add_ringless(process, events, memory_events);
  }

  /// Call when a full disk has space again: adds the losses `lost` and writes a checkpoint of the live set.
  void resume(const trace::dropped_rows& lost);

  /// Drops records that were taken but not written. Used if the recording ends for lack of memory: then there may be
  /// none for writing them.
  void abandon() { queue_.abandon(); }

  /// Ends the turn. `present`: the clocks, read after the last `take`.
  void advance(const clock_anchor& present);

  /// Writes rows that have waited long enough for a matching record or, with `everything`, all waiting rows.
  void settle(bool everything) { processes_.settle(turn_, everything, blocks_); }

  /// Writes frees that have not completed yet; the completion is added later. Call before a flush: otherwise, the freed
  /// blocks would look live to readers of the growing file.
  void write_freed() { processes_.write_freed(blocks_); }

  /// Writes everything that is left, and a last checkpoint.
  void finish(const clock_anchor& present);

  /// Writes a checkpoint now.
  void write_live_set() { checkpoints_.write(now()); }

  /// Cuts the file to a size limit. Use it after `advance`.
  [[nodiscard]] ring_file& limit() { return limit_; }
  /// Why a dump was requested since the last call; empty if no dump was requested.
  [[nodiscard]] std::string take_trigger() { return dumps_.take(); }
  [[nodiscard]] failed_requests& failures() { return memory_.failures(); }

  /// GPUs for which no process reported the links to other GPUs. `set_peer_peak` adds a GPU's links from another
  /// source.
  [[nodiscard]] std::vector<gpu_uuid> gpus_without_peer_peak() const { return names_.gpus_without_peer_peak(); }
  void set_peer_peak(const gpu_uuid& gpu, std::uint64_t bytes_per_second) {
    names_.set_peer_peak(gpu, bytes_per_second);
  }

  /// Receives samples of host threads. They are written by `advance` and `finish`.
  [[nodiscard]] sample_handler& samples() { return samples_; }

  /// Adds a message of the recorder itself.
  void add_message(trace::severity severity, std::string_view text) { write_message(file_, now(), severity, text); }

  /// The Python lines in recorded stacks.
  [[nodiscard]] const std::map<trace::string_id, recorded_lines>& python_lines() const {
    return stacks_.python_lines();
  }

  /// The number of declarations that exceeded the memory limit, as text; empty if there are none.
  [[nodiscard]] std::string left_out() const { return names_.budget().left_out(); }

  [[nodiscard]] std::uint64_t device_events() const { return device_events_; }
  [[nodiscard]] std::uint64_t lost_events() const { return losses_.events(); }
  [[nodiscard]] std::uint64_t lost_memory_events() const { return losses_.memory_events(); }
  /// The number of processes that have sent at least one record.
  [[nodiscard]] std::uint64_t processes_heard() const { return processes_.count_heard(); }
  /// The time passed to the last `advance`; in a simulated recording, the time of the last processed host event.
  [[nodiscard]] trace::time_ns now() const { return clock_.now(); }

 private:
  void process_due();
  void process(const record_queue::batch& batch);
  bool dispatch_frequent(const record_context& c, const record_head& head, const std::byte* record);
  void dispatch(const record_context& c, const record_view& record);

  trace::file_writer& file_;
  trace_clock clock_;
  turn_clock turn_;
  catalogue names_;
  call_stacks stacks_;
  process_list processes_;
  block_writer blocks_;
  checkpoints checkpoints_;
  loss_log losses_;
  dump_requests dumps_;
  ring_file limit_;
  record_queue queue_;
  declaration_handler declarations_;
  memory_handler memory_;
  live_set_handler live_sets_;
  work_handler work_;
  graph_handler graphs_;
  host_handler host_;
  sample_handler samples_;
  std::uint64_t device_events_ = 0;
};

}  // namespace sluice::writer
