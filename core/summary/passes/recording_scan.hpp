#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/id_lookup.hpp"
#include "core/base/id_set.hpp"
#include "core/index/boundary_samples.hpp"
#include "core/index/chunk_index.hpp"
#include "core/index/event_span.hpp"
#include "core/index/event_store.hpp"
#include "core/index/memory/faults.hpp"
#include "core/index/memory/shared_memory.hpp"
#include "core/index/memory/touches.hpp"
#include "core/index/recorded_message.hpp"
#include "core/index/recording_facts.hpp"
#include "core/index/tensors/categories.hpp"
#include "core/index/tensors/training_steps.hpp"
#include "core/index/work/copy_contents.hpp"
#include "core/index/work/steps.hpp"
#include "core/metrics/metrics_builder.hpp"
#include "core/trace/file/reader.hpp"

/// Collects facts about a whole recording that are needed before its sections can be summarized. Takes each row once,
/// in file order, either while the row is written or by reading the file. The memory does not grow with the number of
/// blocks, copies or kernels. It grows with the number of steps, tags, imports, copies whose content was hashed, and
/// checkpoints.
namespace sluice::index {
class step_facts;
}

namespace sluice::summary {

class recording_scan {
 public:
  /// Scans all chunks of `recording`, which must outlive this object. Unreadable chunks leave a warning. `wanted` is
  /// called before each chunk. Once it returns false, the scan stops and its results are invalid. O(rows).
  explicit recording_scan(
      const trace::snapshot& recording, const std::function<bool()>& wanted = [] { return true; });

  /// Continues with `grown`, a later snapshot of the same file, which must outlive this object. The last snapshot is no
  /// longer needed. An object made with `recording_scan(tables)` must have the tables of `grown`. O(new rows).
  void go_on(const trace::snapshot& grown, const std::function<bool()>& wanted);

  /// Scans a recording while it is written. The caller calls `add` and `end_chunk` for the rows of each chunk of events
  /// in file order, then `look_at`. After that, it may call all other functions, or add more rows and call `look_at`
  /// again. `tables` are the tables of the recording and must outlive this object. They may grow, but must have the
  /// rows to which an event refers before the event is added.
  explicit recording_scan(const trace::tables& tables);
  template <class Row>
  void add(const Row& row);
  template <class Row>
  void end_chunk();
  /// Matches the added rows with `written`, the recording so far, which must exist until the next call or outlive this
  /// object. Returns false if its chunks are not those that were added. This object is then unusable. O(chunks since
  /// the last call + births).
  [[nodiscard]] bool look_at(const trace::snapshot& written);

  [[nodiscard]] const trace::snapshot& trace() const { return *of_; }
  [[nodiscard]] const index::chunk_index& chunks() const { return chunks_; }
  [[nodiscard]] std::uint64_t events() const { return events_; }
  /// Errors of the chunks that could not be read, as text.
  [[nodiscard]] const std::vector<std::string>& unreadable() const { return unreadable_; }
  /// Number of rows (kernels, copies, calls, ...) that end before they begin.
  [[nodiscard]] std::uint64_t malformed() const { return malformed_; }
  /// The messages that the recording stores, in file order.
  [[nodiscard]] const std::vector<index::recorded_message>& messages() const { return messages_; }
  [[nodiscard]] const index::copy_contents& contents() const { return contents_; }
  /// For each process, each (device, layer, kind) of its blocks that always reside in device memory.
  [[nodiscard]] const std::map<trace::process_id, std::set<index::memory_key>>& memories() const { return memories_; }
  [[nodiscard]] const index::fault_index& faults() const { return faults_; }
  [[nodiscard]] const index::import_owners& import_owners() const { return import_owners_; }
  [[nodiscard]] const std::unordered_map<std::uint64_t, trace::string_id>& category_tags() const { return categories_; }
  /// Returns the lowest allocation id for which a row gave the category since the last call; `UINT64_MAX` if there is
  /// none.
  [[nodiscard]] std::uint64_t take_lowest_tagged() { return std::exchange(lowest_tagged_, UINT64_MAX); }
  [[nodiscard]] const index::process_clues& clues() const { return clues_; }
  /// For each block without an allocation row, the first checkpoint row that lists the block.
  [[nodiscard]] const std::vector<trace::live_block_event>& only_in_checkpoints() const { return only_in_checkpoints_; }
  /// A checkpoint (list of live blocks) after allocations or frees were lost. The list is in chunks [first, last].
  struct loss_checkpoint {
    trace::checkpoint_event about;
    std::size_t first_chunk = 0;
    std::size_t last_chunk = 0;
  };
  /// Returns the checkpoints that reveal frees whose rows were lost, in order of time. O(checkpoints).
  [[nodiscard]] std::vector<loss_checkpoint> loss_checkpoints() const;
  /// Returns the blocks listed by each of `checkpoints`. Reads their chunks again. Returns nothing if a chunk cannot be
  /// read, or once `wanted`, called before each chunk, returns false. O(rows in the chunks).
  [[nodiscard]] std::optional<std::vector<index::complete_checkpoint>> listed_by(
      std::span<const loss_checkpoint> checkpoints, const std::function<bool()>& wanted) const;
  /// Returns the blocks with a free row; nothing if a chunk cannot be read or `wanted` returned false. Reads all frees
  /// again. O(frees).
  [[nodiscard]] std::optional<id_set> freed(const std::function<bool()>& wanted) const;
  /// True if an allocation row or a checkpoint records when the block was allocated.
  [[nodiscard]] bool is_born(trace::block_id block) const {
    return allocated_.contains(raw(block)) || in_checkpoints_.contains(raw(block));
  }
  /// Number of touch rows that name a block.
  [[nodiscard]] std::uint64_t touches() const { return touches_; }
  /// Returns, for each block that nodes of CUDA graphs use, the graph and the nodes.
  [[nodiscard]] std::vector<index::block_graph_use> graphs() const;
  /// Pools that contain driver-layer blocks.
  [[nodiscard]] const std::set<trace::pool_id>& pools_with_segments() const { return with_segments_; }
  [[nodiscard]] const std::set<trace::device_id>& with_kernels() const { return with_kernels_; }
  /// Returns the first sample of each counter, pool and device.
  [[nodiscard]] std::vector<trace::last_sample_row> first_samples() const;
  /// Finds the steps of all processes. Steps inferred from allocations are found as rows are added, except the last
  /// steps. If many processes have many blocks, each inference uses fewer blocks (`step_window`).
  [[nodiscard]] std::shared_ptr<const index::step_facts> steps() const;
  /// Returns the time before which `steps` will rarely change as the recording grows. Steps inferred from blocks settle
  /// window by window, so this time is about 100,000 blocks ago. Processes that have very few blocks, or that have
  /// ended, do not delay it.
  [[nodiscard]] time_ns steps_settled_until() const;

 private:
  struct birth {
    time_ns born = 0;
    std::uint64_t order = 0;  ///< Position in the file.
    trace::block_id block{};
    trace::stack_id stack{};
    trace::thread_id thread{};
    std::uint64_t bytes = 0;
    time_ns died = trace::unknown_time;
    [[nodiscard]] index::block_record as_block() const;
  };
  /// Allocations in a layer from which steps will be inferred.
  struct births {
    std::uint64_t count = 0;
    std::vector<birth> last;
    index::steps_in_windows steps;
  };
  struct births_of_process {
    std::map<trace::layer, births> layers;
    std::uint64_t highest = 0;                               ///< A block id.
    std::vector<std::pair<trace::block_id, time_ns>> frees;  ///< Frees that are not yet assigned to births.
    /// Sorts births by time and assigns frees to them. O(births) if they are nearly sorted.
    void settle();
  };
  template <class Row>
  void each(std::size_t chunk);
  void take_chunk(std::size_t chunk);
  void settle();
  template <class Row>
  void take(const Row& row) {
    if constexpr (requires { row.end; })
      if (row.end != trace::unknown_time && bounded(row.end) < bounded(row.time)) ++malformed_;
    if constexpr (requires { row.length; })
      if (row.length < 0) ++malformed_;
  }
  void take(const trace::loss_event& row) { index::note(row, losses_); }
  void take(const trace::checkpoint_event& row);
  void take(const trace::alloc_event& row);
  void take(const trace::free_event& row);
  void take(const trace::live_block_event& row);
  void take(const trace::alloc_failed_event& row) { faults_.add(row); }
  void take(const trace::api_call_event& row);
  void take(const trace::pool_event& row);
  void take(const trace::device_memory_event& row);
  void take(const trace::counter_event& row);
  void take(const trace::host_range_event& row);
  void take(const trace::message_event& row);
  void take(const trace::kernel_event& row);
  void take(const trace::marker_event& row) { marks_.add(row); }
  void take(const trace::graph_launch_event& row);
  void take(const trace::touch_event& row);
  void take(const trace::attribute_event& row);
  void take(const trace::link_event& row);
  void take_block(const trace::alloc_event& row, time_ns born);
  /// Keeps an allocation from which steps may be inferred: of an allocation row or, if that is lost, of a checkpoint.
  void take_birth(const trace::alloc_event& row, time_ns born);
  template <class Fill>
  void take_sample(trace::sampled_thing thing, std::uint64_t id, const trace::event_base& event, Fill&& fill);
  void infer_deaths(trace::process_id process, std::span<const loss_checkpoint> checkpoints,
                    std::span<index::block_record> blocks) const;
  /// Returns the readable chunks with rows of a type.
  [[nodiscard]] std::vector<std::size_t> get_chunks(trace::row_type type) const;
  /// Infers steps while there are enough blocks for a window.
  void infer_steps_of(trace::process_id process, births_of_process& of_process, births& subject);
  void finish_steps_of(trace::process_id process, births_of_process& of_process, time_ns end);
  void keep_births_within_bounds();
  /// Returns the births from which steps are inferred; null if there are too few.
  [[nodiscard]] const births* births_for_pattern(trace::process_id process) const;
  [[nodiscard]] index::step_list get_steps(trace::process_id process, const births* subject,
                                           std::span<const loss_checkpoint> checkpoints, time_ns end) const;

  const trace::tables& tables_;
  const trace::snapshot* of_ = nullptr;  ///< Null before `look_at`.
  std::size_t next_chunk_ = 0;           ///< The next chunk for `go_on` or `look_at`.
  index::chunk_index chunks_;
  std::size_t chunk_ = 0;     ///< The number of the chunk that is being read or, for added rows, its number among event
                              ///< chunks.
  index::chunk_reach reach_;  ///< The reach of the rows of `chunk_` so far.
  std::uint32_t rows_ = 0;
  std::vector<trace::transfer_event> transfers_;  ///< The transfers among the rows of `chunk_`.
  struct added_chunk {
    trace::row_type type{};
    std::uint32_t rows = 0;
    index::chunk_reach reach;
  };
  std::vector<added_chunk> added_;    ///< Chunks since the last `look_at`.
  std::vector<std::size_t> numbers_;  ///< Numbers in the file of the chunks added before.
  bool reads_ = false;                ///< True if rows are read from the file, not added.
  bool other_chunks_ = false;         ///< True if `look_at` has found chunks that were not added.
  bool unnumbered_ = false;           ///< True if an added row had no id.
  std::uint64_t events_ = 0;
  std::vector<std::string> unreadable_;
  std::uint64_t malformed_ = 0;
  std::vector<index::recorded_message> messages_;
  index::copy_contents contents_;
  std::map<trace::process_id, std::set<index::memory_key>> memories_;
  index::fault_index faults_;
  index::import_owners import_owners_;
  std::unordered_map<std::uint64_t, trace::string_id> categories_;
  std::uint64_t lowest_tagged_ = UINT64_MAX;
  index::process_clues clues_;
  index::step_marks marks_;
  id_set allocated_;
  id_set in_checkpoints_;  ///< Blocks that a checkpoint lists before any allocation row.
  std::vector<trace::live_block_event> only_in_checkpoints_;
  struct listed_blocks {
    loss_checkpoint checkpoint;
    bool seen = false;
    std::size_t blocks = 0;
  };
  index::first_losses losses_;
  std::map<trace::event_id, listed_blocks> checkpoints_;
  std::uint64_t touches_ = 0;
  index::touch_index graph_touches_;  ///< Only touches by graph nodes.
  std::set<trace::pool_id> with_segments_;
  std::set<trace::device_id> with_kernels_;
  std::map<std::pair<trace::sampled_thing, std::uint64_t>, trace::last_sample_row> first_samples_;
  std::map<trace::process_id, births_of_process> births_;
  std::size_t births_kept_ = 0;  ///< Number of births kept for all processes.
  std::size_t max_births_;       ///< The maximum of `births_kept_`.
  time_ns newest_birth_ = -latest_time;
  std::size_t frees_kept_ = 0;  ///< Number of unassigned frees of all processes.
  index::step_window window_;   ///< The window is halved when there are too many births in total.
};

/// Returns the facts about the whole recording that metrics need. `malformed`: the count of the pass over the sections.
/// `known` must outlive the result.
[[nodiscard]] metrics::unsectioned_facts collect_unsectioned_facts(const recording_scan& known,
                                                                   std::uint64_t malformed);

template <class Row>
void recording_scan::add(const Row& row) {
  if (rows_++ == 0) reach_ = index::reach_of_no_rows<Row>(chunk_);
  index::add_to_reach(reach_, row);
  if constexpr (std::is_same_v<Row, trace::transfer_event>) transfers_.push_back(row);
  unnumbered_ = unnumbered_ || row.id == trace::event_id::none;
  take(row);
}

template <class Row>
void recording_scan::end_chunk() {
  constexpr trace::row_type type = trace::type_of_row<Row>;
  if (!reads_) added_.push_back({type, rows_, reach_});
  if (reads_ && rows_ > 0) chunks_.add(reach_, type);
  events_ += rows_;
  contents_.add(transfers_);
  transfers_.clear();
  rows_ = 0;
  ++chunk_;
}

}  // namespace sluice::summary
