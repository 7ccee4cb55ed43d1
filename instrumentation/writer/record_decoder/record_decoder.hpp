#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/trace/file/writer_inline.hpp"
#include "instrumentation/writer/blocks/block_ledger.hpp"
#include "instrumentation/writer/blocks/launch_blocks.hpp"
#include "instrumentation/writer/clock_line.hpp"
#include "instrumentation/writer/record_decoder/call_stacks.hpp"
#include "instrumentation/writer/record_decoder/catalogue.hpp"
#include "instrumentation/writer/record_decoder/failed_requests.hpp"
#include "instrumentation/writer/record_decoder/graph_nodes.hpp"
#include "instrumentation/writer/record_decoder/inexact_spans.hpp"
#include "instrumentation/writer/record_decoder/ipc_links.hpp"
#include "instrumentation/writer/record_decoder/open_ranges.hpp"
#include "instrumentation/writer/record_decoder/work_joiner.hpp"
#include "instrumentation/writer/ring_reader.hpp"

namespace sluice::writer {

struct record_decoder_options {
  bool simulated = false;
  std::size_t checkpoint_every = 65536;
  std::uint64_t ring_bytes = 0;  ///< Keep only the last part, in a file of about this many bytes; 0: keep all.
  bool notice_failures = false;  ///< Request a dump when an allocation fails.
  std::size_t table_bytes = table_budget::usual_bytes;  ///< Memory limit for all declarations.
  std::uint64_t max_device_bytes = 0;                   ///< Request a dump if more is in use (bytes); 0: never.
};

/// By how many blocks a process's unfinished live sets may exceed its live blocks. Larger sets are dropped.
inline constexpr std::size_t max_received_blocks = std::size_t{1} << 21;

/// A live set (a list of live blocks) that a process has begun to send.
struct received_set {
  std::vector<block_ledger::known_block> blocks;
  trace::time_ns from = trace::unknown_time;
};

/// A memory pool of the program itself, whose owner sends its live set (a list of its live blocks).
struct listed_pool {
  std::uint32_t copy = 0;   ///< Number of the producer copy that owns the pool.
  trace::time_ns last = 0;  ///< Latest time at which the pool is known to exist.
};

/// All state of one recorded process.
struct recorded_process {
  recorded_process(trace::file_writer& file, std::uint64_t& last_block, std::uint64_t& last_graph)
      : blocks(file, last_block), work(file, blocks), graphs(file, last_graph), ranges(file) {}

  process_names names;
  process_stacks stacks;
  block_ledger blocks;
  work_joiner work;
  graph_nodes graphs;
  open_ranges ranges;
  inexact_spans doubts;                                            ///< Where the live set is uncertain after losses.
  received_set live_set;                                           ///< The set that the capture library is sending.
  std::unordered_map<std::uint64_t, received_set> pool_live_sets;  ///< Unfinished sets of pools, keyed by pool key.
  std::unordered_map<std::uint64_t, listed_pool> listed_pools;     ///< Pools that send live sets, keyed by pool key.
  std::size_t received_blocks = 0;                                 ///< Number of blocks in all unfinished sets.
  std::vector<std::uint32_t>
      dropped;  ///< Producer copies from which a pool's set was dropped, and which have not sent all pools' sets since.
  std::map<std::uint32_t, trace::loss_event>
      streamless;      ///< Per producer copy: allocations and frees with unknown pool_streams since the last turn.
  bool heard = false;  ///< True if the process has sent any record.

  /// Call when no more records can come from this process: frees memory that only late records would need.
  void forget_past() {
    blocks.forget_past();
    work.forget_past();
    graphs.forget_past();
  }
};

/// The state of one ring in the recording.
struct ring_source {
  recorded_process* process = nullptr;
  ring::clock_kind clock = ring::clock_kind::tsc;
  std::uint32_t copy = 0;  ///< See `ring_identity::copy`.
  trace::thread_id thread{};
  std::uint64_t reported_losses = 0;
  std::uint64_t reported_memory_losses = 0;
  std::uint64_t ringless_losses = 0;
  std::uint64_t ringless_memory_losses = 0;
  trace::time_ns ringless_looked = 0;  ///< Time of the last check of the ringless losses.
  bool broken = false;                 ///< True if the ring had invalid records: the rest cannot be trusted.
};

/// Turns the records of rings into rows of a trace: sorts them by time, assigns ids, joins related records,
/// tracks the live set and writes checkpoints of it. In each turn, call `take` for each ring, then `advance`.
/// Records are written one turn after they were taken, because all earlier records have been taken by then,
/// too; so the records of all threads are merged by time. Not thread-safe.
class record_decoder {
 public:
  /// `file` must outlive this object. `start`: the clocks at time 0 of the trace.
  record_decoder(trace::file_writer& file, const clock_anchor& start, const record_decoder_options& options);

  recorded_process& add_process(const producer_identity& identity, std::uint64_t pid);
  /// Sets the identity of a process that was added before it sent anything.
  void identify(recorded_process& process, const producer_identity& identity);
  /// Writes the row of a process again after a change.
  void update(const recorded_process& process) { names_.update_process(process.names); }

  /// Drains up to `most` bytes of `reader`. `ring` must live until `advance`. Errors: corrupt; then stop using `ring`.
  result<std::size_t> take(ring_source& ring, ring_reader& reader, std::size_t most = ring::maximum_ring_bytes);

  /// Adds losses that a ring never reported, because its owner ended or the ring stayed full. Call after `advance`.
  void take_unreported_loss(ring_source& ring, const ring_reader::losses& lost);

  /// Adds losses of threads without a ring, which one ring of their process counts. Call after `advance`.
  void take_ringless_loss(ring_source& ring, const ring_reader::losses& lost);

  /// Adds losses that a process without a ring reported (see `loss_note`).
  void add_unreported_loss(recorded_process& process, std::uint64_t events, std::uint64_t memory_events);

  /// Call when a full disk has space again: adds the losses `lost` and writes a checkpoint of the live set.
  void resume(const trace::dropped_rows& lost);

  /// Drops records that were taken but not written. Used if the recording ends for lack of memory.
  void abandon();

  /// Ends the turn. `present`: the clocks, read after the last `take`.
  void advance(const clock_anchor& present);

  /// Writes rows that have waited long enough for a matching record or, with `everything`, all waiting rows.
  void settle(bool everything);

  /// Writes frees that have not completed yet; the completion is added later. Call before a flush: otherwise, the freed
  /// blocks would look live to readers of the growing file.
  void write_freed();

  /// Writes everything that is left, and a last checkpoint.
  void finish(const clock_anchor& present);

  /// Writes a checkpoint now.
  void write_live_set() { write_checkpoint(now()); }

  /// With a size limit, drops the file's oldest part. Call after `advance`. Errors: io, no_space; the file then keeps
  /// growing.
  result<void> keep_ring();
  /// Drops all events so far; a checkpoint keeps the live set. Errors: io, no_space; the file then keeps growing.
  result<void> forget_past();
  /// Sets the size limit from now on; 0: keep everything.
  void set_ring(std::uint64_t bytes) { options_.ring_bytes = bytes; }
  /// Why a dump was requested since the last call; empty if no dump was requested.
  [[nodiscard]] std::string take_trigger() { return std::exchange(trigger_, {}); }
  [[nodiscard]] failed_requests& failures() { return failures_; }
  /// True if `keep_ring` is about to cut the file.
  [[nodiscard]] bool will_cut() const {
    return options_.ring_bytes != 0 && !processes_.empty() && file_.bytes_written() > options_.ring_bytes / 2;
  }

  /// GPUs for which no process reported the links to other GPUs. `set_peer_peak` adds a GPU's links from another
  /// source.
  [[nodiscard]] std::vector<gpu_uuid> gpus_without_peer_peak() const { return names_.gpus_without_peer_peak(); }
  void set_peer_peak(const gpu_uuid& gpu, std::uint64_t bytes_per_second) {
    names_.set_peer_peak(gpu, bytes_per_second);
  }

  /// Adds a message of the recorder itself.
  void add_message(trace::severity severity, std::string_view text);

  /// The Python lines in recorded stacks.
  [[nodiscard]] const std::map<trace::string_id, recorded_lines>& python_lines() const {
    return stacks_.python_lines();
  }

  /// The number of declarations that exceeded the memory limit, as text; empty if there are none.
  [[nodiscard]] std::string left_out() const { return names_.budget().left_out(); }

  [[nodiscard]] std::uint64_t device_events() const { return device_events_; }
  [[nodiscard]] std::uint64_t lost_events() const { return lost_events_; }
  [[nodiscard]] std::uint64_t lost_memory_events() const { return lost_memory_events_; }
  /// The number of processes that have sent at least one record.
  [[nodiscard]] std::uint64_t processes_heard() const;
  /// The time passed to the last `advance`; in a simulated recording, the time of the last processed host event.
  [[nodiscard]] trace::time_ns now() const { return options_.simulated ? reached_ : present_; }

 private:
  /// The origin of records: process, thread and producer copy.
  struct speaker {
    recorded_process* process;
    trace::thread_id thread;
    ring::clock_kind clock;
    std::uint32_t copy;  ///< See `ring_identity::copy`.
    friend bool operator==(const speaker&, const speaker&) = default;
  };
  /// Memory of the records taken in one turn. The records stay here until the next turn.
  struct turn_memory {
    std::vector<std::byte> bytes;
    std::vector<speaker> speakers;
    void clear() {
      bytes.clear();
      speakers.clear();
    }
  };
  /// A record waiting to be processed. There is one per record, so it is kept small.
  struct pending {
    pending() {
    }  // NOLINT(modernize-use-equals-default): not zeroed, because space is made for many before they are known.
    pending(trace::time_ns when, std::uint32_t where, std::uint32_t who) : time(when), word(where), voice(who) {}
    trace::time_ns time;
    std::uint32_t word;   ///< Position in the turn's bytes, in units of 8 bytes.
    std::uint32_t voice;  ///< Twice the index of the speaker, plus the low bit of the turn's number.
  };
  struct drained_span {
    ring_source* ring;
    std::size_t offset, length;
  };
  struct context {
    recorded_process& process;
    trace::thread_id thread;
    ring::clock_kind clock;
    std::uint32_t copy;
    std::uint32_t flags;
    trace::time_ns time;
  };

  [[nodiscard]] trace::time_ns plausible(trace::time_ns time) const;
  [[nodiscard]] trace::time_ns convert(ring::clock_kind clock, std::uint32_t flags, std::uint64_t raw) const;
  [[nodiscard]] trace::time_ns convert(const context& c, std::uint64_t raw) const {
    return convert(c.clock, c.flags, raw);
  }
  /// Converts an end time as `convert` does; 0 gives `unknown_time`.
  [[nodiscard]] trace::time_ns end_time(const context& c, std::uint64_t raw) const;
  template <class Row>
  Row begin(const context& c) const {
    Row row;
    fill(row, c);
    return row;
  }
  /// Fills in a row's common members, like `begin`, but in the file's buffer instead of a copy.
  template <class Row>
  Row& start(const context& c) {
    Row& row = file_.start<Row>();
    fill(row, c);
    return row;
  }
  static void fill(trace::event_base& row, const context& c);

  void add_anchor(const clock_anchor& clocks);
  void sort_in(const drained_span& drained);
  template <bool Simulated>
  bool sort_in(ring_source& ring, std::span<const std::byte> drained);
  void break_off(ring_source& ring);
  static void count_reported_loss(ring_source& ring, const record_view& record);
  std::uint32_t voice_of(const ring_source& ring);
  [[nodiscard]] const turn_memory& memory_of(const pending& p) const { return memory_[p.voice & 1]; }
  [[nodiscard]] const speaker& speaker_of(const pending& p) const { return memory_of(p).speakers[p.voice / 2]; }
  void define_early(ring_source& ring, const record_view& record);
  void put_in_order(std::vector<pending>& some);
  void process_due();
  void process(std::span<const pending> some);
  bool dispatch_frequent(const context& c, const record_head& head, const std::byte* record);
  void dispatch(const context& c, const record_view& record);
  bool dispatch_definition(const context& c, const record_view& record);
  bool dispatch_memory(const context& c, const record_view& record);
  bool dispatch_work(const context& c, const record_view& record);
  void dispatch_host(const context& c, const record_view& record);
  template <class Record>
  void hand_on(const context& c, const record_head& head, const std::byte* record) {
    Record spare;
    on(c, view(head, record, spare));
  }
  void on(const context& c, const ring::alloc_record& r);
  void on(const context& c, const ring::free_record& r);
  void on(const context& c, const ring::framework_alloc_record& r);
  void on(const context& c, const ring::framework_free_record& r);
  void on(const context& c, const ring::pool_stream_alloc_record& r);
  void on(const context& c, const ring::pool_stream_free_record& r);
  [[nodiscard]] const ring::pool_stream_record* pool_stream_of(const context& c, std::uint64_t key);
  void report_streamless();
  void on(const context& c, const ring::free_completed_record& r);
  void on(const context& c, const ring::alloc_failed_record& r);
  void on(const context& c, const ring::pool_state_record& r);
  void on(const context& c, const ring::device_memory_record& r);
  void on(const context& c, const ring::api_call_record& r);
  void on(const context& c, const ring::content_record& r);
  void on(const context& c, const ring::copy_record& r);
  void on(const context& c, const ring::memset_record& r);
  void on(const context& c, const ring::kernel_record& r);
  void on(const context& c, const ring::migration_record& r);
  void on(const context& c, const ring::graph_launch_record& r);
  void on(const context& c, const ring::graph_definition_record& r);
  void on_touch(const context& c, const record_view& record);
  void on_node_touch(const context& c, const record_view& record);
  void on(const context& c, const ring::graph_call_record& r);
  void on(const context& c, const ring::watermark_record& r);
  void on(const context& c, const ring::sync_record& r);
  void on(const context& c, const ring::range_record& r);
  void on(const context& c, const ring::range_begin_record& r);
  void on(const context& c, const ring::range_end_record& r);
  void on(const context& c, const ring::thread_name_record& r);
  void on(const context& c, const ring::pool_record& r);
  void on(const context& c, const ring::tag_record& r);
  void on(const context& c, const ring::marker_record& r);
  void on(const context& c, const ring::counter_value_record& r);
  void on(const context& c, const ring::file_io_record& r);
  void on(const context& c, const ring::message_record& r);
  void on(const context& c, const ring::loss_record& r);
  void on_event_edge(const context& c, const ring::event_edge_record& r, bool recorded);
  void on(const context& c, const ring::share_record& r);
  enum class set_state : std::uint8_t { unknown, coming, ended, dropped };
  template <class Record>
  set_state take_part(const context& c, const record_view& record, const Record& r, received_set& set);
  void on_live_set(const context& c, const record_view& record);
  void on_pool_live_set(const context& c, const record_view& record);
  void on_copy_parts(const context& c, const record_view& record);
  void on_fault(const context& c, const record_view& record);
  void on(const context& c, const ring::live_sets_complete_record& r);
  /// Adds a loss of one producer copy. `layers`: the layers of lost memory events, one bit each; 0: unknown.
  void add_loss(recorded_process& process, trace::loss_event loss, std::uint32_t copy, ring::layer_bits layers);
  void consider_checkpoint(trace::time_ns time);
  void consider_checkpoint_after_loss();
  void consider_peak(recorded_process& process);
  result<void> add_mark();
  result<void> drop_before(std::uint64_t mark);
  void write_checkpoint(trace::time_ns time);

  trace::file_writer& file_;
  clock_line clocks_;
  std::int64_t origin_;  ///< CLOCK_MONOTONIC ns at time 0.
  record_decoder_options options_;
  catalogue names_;
  call_stacks stacks_;
  ipc_links shares_;
  launch_blocks launch_;
  bool stacks_left_out_ = false;
  bool streamless_ = false;           ///< True if unknown pool_streams were used since the last turn.
  bool streamless_reported_ = false;  ///< True after a message about unknown pool_streams was written.
  std::uint64_t last_block_ = 0;
  std::uint64_t last_graph_ = 0;
  std::vector<std::unique_ptr<recorded_process>> processes_;

  std::array<turn_memory, 2> memory_;  ///< For this turn and the previous turn, indexed by the turn's low bit.
  std::vector<drained_span> drained_;
  struct waiting_records {
    std::vector<pending> ordered;      ///< Host events; processed in order of time.
    std::vector<pending> from_device;  ///< Device events, which may arrive late; processed in order of arrival.
  };
  waiting_records due_, later_;  ///< Records to process in this turn, and in the next turn.
  std::vector<pending> spare_;   ///< Scratch memory for sorting.
  turn_clock now_;
  trace::time_ns settled_ = INT64_MIN;  ///< Latest host time taken in the previous turn.
  trace::time_ns latest_ = INT64_MIN;   ///< Latest host time taken in this turn.
  trace::time_ns reached_ = 0;          ///< Time of the last host event processed.
  trace::time_ns present_ = 0;
  trace::time_ns last_anchor_ = 0;  ///< Time of the last anchor in the file.

  std::vector<std::uint64_t> marks_;  ///< File positions of checkpoints where the file may be cut, oldest first.
  std::string trigger_;
  failed_requests failures_;
  bool above_peak_ = false;
  std::uint64_t device_events_ = 0;
  std::uint64_t lost_events_ = 0;
  std::uint64_t lost_memory_events_ = 0;
  trace::time_ns loss_until_ = INT64_MIN;  ///< Time of the latest loss or live set without a later checkpoint.
  std::uint64_t events_at_checkpoint_ = 0;
  std::size_t blocks_at_checkpoint_ = 0;
};

/// Device times may be slightly ahead of the present. An implausible time is replaced by the present.
inline trace::time_ns record_decoder::plausible(trace::time_ns time) const {
  constexpr trace::time_ns plausible_future = 3'600'000'000'000;
  return time > present_ + plausible_future && !options_.simulated ? present_ : time;
}

inline trace::time_ns record_decoder::convert(ring::clock_kind clock, std::uint32_t flags, std::uint64_t raw) const {
  const auto ns = static_cast<std::int64_t>(std::min<std::uint64_t>(raw, INT64_MAX / 2));
  if (options_.simulated) return ns;
  const bool counted = clock == ring::clock_kind::tsc && (flags & ring::flag_monotonic) == 0;
  return plausible((counted ? clocks_.to_monotonic(raw) : ns) - origin_);
}

inline trace::time_ns record_decoder::end_time(const context& c, std::uint64_t raw) const {
  return raw == 0 ? trace::unknown_time : convert(c, raw);
}

inline void record_decoder::fill(trace::event_base& row, const context& c) {
  row.time = c.time;
  row.process = c.process.names.id;
  row.thread = c.thread;
  if ((c.flags & (ring::flag_sampled | ring::flag_estimated | ring::flag_inferred)) == 0) return;
  if ((c.flags & ring::flag_sampled) != 0) row.source = trace::provenance::sampled;
  if ((c.flags & ring::flag_estimated) != 0) row.source = trace::provenance::estimated;
  if ((c.flags & ring::flag_inferred) != 0) row.source = trace::provenance::inferred;
}

}  // namespace sluice::writer
