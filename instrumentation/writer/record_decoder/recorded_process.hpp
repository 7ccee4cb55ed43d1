#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/trace/file/writer.hpp"
#include "core/trace/model/model.hpp"
#include "instrumentation/writer/blocks/block_ledger.hpp"
#include "instrumentation/writer/record_decoder/block_writer.hpp"
#include "instrumentation/writer/record_decoder/call_stacks.hpp"
#include "instrumentation/writer/record_decoder/catalogue.hpp"
#include "instrumentation/writer/record_decoder/graph_nodes.hpp"
#include "instrumentation/writer/record_decoder/inexact_spans.hpp"
#include "instrumentation/writer/record_decoder/open_ranges.hpp"
#include "instrumentation/writer/record_decoder/work_joiner.hpp"
#include "instrumentation/writer/rings/ring_reader.hpp"
#include "instrumentation/writer/rings/turn_clock.hpp"
#include "instrumentation/writer/sampling/recent_library_calls.hpp"
#include "instrumentation/writer/sampling/recent_python_stacks.hpp"

namespace sluice::writer {

/// A memory pool of the program itself, whose owner sends its live set (a list of its live blocks).
struct listed_pool {
  std::uint32_t copy = 0;   ///< Number of the producer copy that owns the pool.
  trace::time_ns last = 0;  ///< Latest time at which the pool is known to exist.
};

/// All state of one recorded process.
struct recorded_process {
  recorded_process(trace::file_writer& file, std::uint64_t& last_block, std::uint64_t& last_graph)
      : blocks(last_block), work(file, blocks), graphs(file, last_graph), ranges(file) {}

  process_names names;
  process_stacks stacks;
  block_ledger blocks;
  work_joiner work;
  graph_nodes graphs;
  open_ranges ranges;
  inexact_spans doubts;              ///< Where the live set is uncertain after losses.
  block_ledger::known_set live_set;  ///< The set that the capture library is sending.
  std::unordered_map<std::uint64_t, block_ledger::known_set>
      pool_live_sets;                                           ///< Unfinished sets of pools, keyed by pool key.
  std::unordered_map<std::uint64_t, listed_pool> listed_pools;  ///< Pools that send live sets, keyed by pool key.
  std::size_t received_blocks = 0;                              ///< Number of blocks in all unfinished sets.
  std::vector<std::uint32_t>
      dropped;  ///< Producer copies from which a pool's set was dropped, and which have not sent all pools' sets since.
  std::map<std::uint32_t, trace::loss_event>
      streamless;  ///< Per producer copy: allocations and frees with unknown pool_streams since the last turn.
  std::unordered_set<std::uint64_t> recorder_threads;  ///< Tids of the recorder's threads, as the process sees them.
  std::uint64_t recorder_threads_version = 0;          ///< Version of that list; 0: none has arrived.
  bool sampling_paused = false;                        ///< True if its host threads are not to be sampled now.
  recent_python_stacks python_stacks;                  ///< By tid, as the process sees it.
  recent_library_calls library_calls;                  ///< Likewise.
  bool heard = false;                                  ///< True if the process has sent any record.

  /// Call when no more records can come from this process: frees memory that only late records would need.
  void forget_past() {
    blocks.forget_past();
    work.forget_past();
    graphs.forget_past();
    python_stacks.clear();
    library_calls.clear();
  }
};

/// The processes of a recording, in the order in which they were added. Not thread-safe.
class process_list {
 public:
  /// `file`: receives the rows of the processes.
  explicit process_list(trace::file_writer& file) : file_(file) {}

  /// Adds a process. The reference stays valid.
  recorded_process& add() {
    processes_.push_back(std::make_unique<recorded_process>(file_, last_block_, last_graph_));
    return *processes_.back();
  }
  /// The id of the parent that `identity` names; none if the parent is not recorded. O(processes).
  [[nodiscard]] trace::process_id find_parent(const producer_identity& identity) const;
  /// The number of processes that have sent at least one record. O(processes).
  [[nodiscard]] std::uint64_t count_heard() const;

  /// Writes rows that have waited long enough for a matching record or, with `everything`, all waiting rows.
  void settle(const turn_clock& now, bool everything, block_writer& writer);
  /// Writes frees that have not completed yet. A later completion becomes a row of its own.
  void write_freed(block_writer& writer);

  [[nodiscard]] bool empty() const { return processes_.empty(); }
  [[nodiscard]] auto begin() const { return processes_.begin(); }
  [[nodiscard]] auto end() const { return processes_.end(); }

 private:
  trace::file_writer& file_;
  std::uint64_t last_block_ = 0;  ///< The last block id assigned.
  std::uint64_t last_graph_ = 0;
  std::vector<std::unique_ptr<recorded_process>> processes_;
};

/// The state of one ring in the recording.
struct ring_source {
  recorded_process* process = nullptr;
  ring::clock_kind clock = ring::clock_kind::tsc;
  std::uint32_t copy = 0;  ///< See `ring_identity::copy`.
  trace::thread_id thread{};
  std::uint64_t tid = 0;     ///< The thread's id in its process; 0: unknown.
  bool of_recorder = false;  ///< True if the process said so when it introduced the thread.
  std::uint64_t reported_losses = 0;
  std::uint64_t reported_memory_losses = 0;
  std::uint64_t ringless_losses = 0;
  std::uint64_t ringless_memory_losses = 0;
  trace::time_ns ringless_looked = 0;  ///< Time of the last check of the ringless losses.
  bool broken = false;                 ///< True if the ring had invalid records: the rest cannot be trusted.

  /// True if the thread belongs to the recorder (`ring/recorder_threads.hpp`). Rows of what it does on the host are not
  /// written.
  [[nodiscard]] bool is_of_recorder() const { return of_recorder || process->recorder_threads.contains(tid); }
};

}  // namespace sluice::writer
