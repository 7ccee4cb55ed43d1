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
#include "core/figures/figures_builder.hpp"
#include "core/index/boundary_samples.hpp"
#include "core/index/chunk_index.hpp"
#include "core/index/event_span.hpp"
#include "core/index/index.hpp"
#include "core/index/memory/categories.hpp"
#include "core/index/memory/faults.hpp"
#include "core/index/memory/shared_memory.hpp"
#include "core/index/memory/touches.hpp"
#include "core/index/recorded_message.hpp"
#include "core/index/recording_facts.hpp"
#include "core/index/work/copy_contents.hpp"
#include "core/index/work/steps.hpp"
#include "core/index/work/training_steps.hpp"
#include "core/trace/file/reader.hpp"

/// Collects what must be known of the whole recording before its sections can be summarized, from all rows once in file
/// order: while they are written, or by reading them. Memory does not grow with the number of blocks, copies or kernels, but with steps, tags and imports,
/// with copies whose content was hashed, and with checkpoints.
namespace sluice::analysis {

class step_facts;

class recording_scan {
 public:
  /// Scans all chunks of `of`, which must outlive this. Unreadable chunks leave a warning. `wanted` is called before
  /// each chunk; once it returns false the scan stops and its results are invalid. O(rows).
  explicit recording_scan(
      const trace::snapshot& of, const std::function<bool()>& wanted = [] { return true; });

  /// Goes on with `grown`, a later snapshot of the file of the one before, which may end then; it must outlive this. With
  /// `recording_scan(tables)`, that must be the tables of `grown`. O(new rows).
  void go_on(const trace::snapshot& grown, const std::function<bool()>& wanted);

  /// A scan of a recording while it is written: call `add` and `end_chunk` for the rows of each chunk of events in file
  /// order, then `look_at`; after that, all other functions, or more rows and `look_at` again. `tables`, those of the
  /// recording, must outlive this. They may grow meanwhile, but must define what an event refers to before the event is added.
  explicit recording_scan(const trace::tables& tables);
  template <class Row>
  void add(const Row& row);
  template <class Row>
  void end_chunk();
  /// `written` is the recording so far, which must outlive this, or last until the next call. Returns false if its chunks
  /// are not those that were added: then this is of no use. O(chunks since the last call + births).
  [[nodiscard]] bool look_at(const trace::snapshot& written);

  [[nodiscard]] const trace::snapshot& trace() const { return *of_; }
  [[nodiscard]] const chunk_index& chunks() const { return chunks_; }
  [[nodiscard]] std::uint64_t events() const { return events_; }
  /// Errors of the chunks that could not be read, as text.
  [[nodiscard]] const std::vector<std::string>& unreadable() const { return unreadable_; }
  /// Number of rows (kernels, copies, calls, ...) that end before they begin.
  [[nodiscard]] std::uint64_t malformed() const { return malformed_; }
  /// The messages that the recording stores, in file order.
  [[nodiscard]] const std::vector<recorded_message>& messages() const { return messages_; }
  [[nodiscard]] const copy_contents& contents() const { return contents_; }
  /// By process: each (device, layer, kind) of its blocks that always reside in device memory.
  [[nodiscard]] const std::map<trace::process_id, std::set<memory_key>>& memories() const { return memories_; }
  [[nodiscard]] const fault_index& faults() const { return faults_; }
  [[nodiscard]] const analysis::import_owners& import_owners() const { return import_owners_; }
  [[nodiscard]] const std::unordered_map<std::uint64_t, trace::string_id>& category_tags() const { return categories_; }
  /// The lowest id of an allocation of which a row has told the category since the last call; `UINT64_MAX`: of none.
  [[nodiscard]] std::uint64_t take_lowest_tagged() { return std::exchange(lowest_tagged_, UINT64_MAX); }
  [[nodiscard]] const process_clues& clues() const { return clues_; }
  /// For each block without an allocation row: the first checkpoint row that lists it.
  [[nodiscard]] const std::vector<trace::live_block_event>& only_in_checkpoints() const { return only_in_checkpoints_; }
  /// A checkpoint (list of live blocks) after allocations or frees were lost. The list is in chunks [first, last].
  struct loss_checkpoint {
    trace::checkpoint_event about;
    std::size_t first_chunk = 0;
    std::size_t last_chunk = 0;
  };
  /// The checkpoints that reveal frees whose rows were lost, in order of time. O(checkpoints).
  [[nodiscard]] std::vector<loss_checkpoint> loss_checkpoints() const;
  /// Returns the blocks listed by each of `checkpoints`. Reads their chunks again. Returns nothing if a chunk cannot be
  /// read, or once `wanted`, called before each chunk, returns false. O(rows in the chunks).
  [[nodiscard]] std::optional<std::vector<complete_checkpoint>> listed_by(std::span<const loss_checkpoint> checkpoints,
                                                                          const std::function<bool()>& wanted) const;
  /// The blocks with a free row; nothing if a chunk cannot be read or `wanted` returned false. Rereads frees: O(frees).
  [[nodiscard]] std::optional<id_set> freed(const std::function<bool()>& wanted) const;
  /// True if a row records the block's birth.
  [[nodiscard]] bool is_born(trace::block_id block) const {
    return allocated_.contains(raw(block)) || in_checkpoints_.contains(raw(block));
  }
  /// Number of touch rows that name a block.
  [[nodiscard]] std::uint64_t touches() const { return touches_; }
  /// For each block that nodes of CUDA graphs use: which graph and nodes.
  [[nodiscard]] std::vector<block_graph_use> graphs() const;
  /// Pools that contain driver-layer blocks.
  [[nodiscard]] const std::set<trace::pool_id>& pools_with_segments() const { return with_segments_; }
  [[nodiscard]] const std::set<trace::device_id>& with_kernels() const { return with_kernels_; }
  /// The first sample of each counter, pool and device.
  [[nodiscard]] std::vector<trace::last_sample_row> first_samples() const;
  /// Finds the steps of all processes. Those that must be inferred from allocations have been, but for the last ones, as rows
  /// were added. Where many processes have many blocks, each is inferred from fewer at a time (`step_window`).
  [[nodiscard]] std::shared_ptr<const step_facts> steps() const;
  /// The time before which `steps` will hardly change as the recording goes on. Steps that are inferred from blocks are settled
  /// window by window, so it is some 100,000 blocks ago; a window is not waited for where a process has very few blocks, or has ended.
  [[nodiscard]] time_ns steps_settled_until() const;

 private:
  struct birth {
    time_ns born = 0;
    std::uint64_t order = 0;  ///< Order in the file.
    trace::block_id block{};
    trace::stack_id stack{};
    trace::thread_id thread{};
    std::uint64_t bytes = 0;
    time_ns died = trace::unknown_time;
    [[nodiscard]] block_record as_block() const;
  };
  /// Births in a layer from which steps are to be inferred yet.
  struct births {
    std::uint64_t count = 0;
    std::vector<birth> last;
    steps_in_windows steps;
  };
  struct births_of_process {
    std::map<trace::layer, births> layers;
    std::uint64_t highest = 0;                               ///< Id of a block.
    std::vector<std::pair<trace::block_id, time_ns>> frees;  ///< That births were not told of yet.
    /// Puts births in order of time, and tells them of frees. O(births) if they came nearly in that order.
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
  }
  void take(const trace::loss_event& row) { note(row, losses_); }
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
  template <class Fill>
  void take_sample(trace::sampled_thing what, std::uint64_t id, const trace::event_base& event, Fill&& fill);
  void infer_deaths(trace::process_id process, std::span<const loss_checkpoint> checkpoints,
                    std::span<block_record> blocks) const;
  /// The readable chunks with rows of a type.
  [[nodiscard]] std::vector<std::size_t> chunks_of(trace::row_type type) const;
  /// Infers steps while there are blocks for a window.
  void infer_steps_of(trace::process_id process, births_of_process& all, births& of);
  void finish_steps_of(trace::process_id process, births_of_process& all, time_ns end);
  void keep_births_within_bounds();
  /// True if no more births of the process will come.
  [[nodiscard]] bool has_ended(const trace::process_row& process) const {
    return process.end != trace::unknown_time && bounded(process.end) < newest_birth_;
  }
  /// Those from which steps are inferred; null: there are too few.
  [[nodiscard]] const births* births_for_pattern(trace::process_id process) const;
  [[nodiscard]] step_list steps_of(trace::process_id process, const births* of,
                                   std::span<const loss_checkpoint> checkpoints, time_ns end) const;

  const trace::tables& tables_;
  const trace::snapshot* of_ = nullptr;  ///< Null before `look_at`.
  std::size_t next_chunk_ = 0;           ///< That `go_on` has not taken, or `look_at` not seen.
  chunk_index chunks_;
  std::size_t chunk_ = 0;  ///< The chunk being read; of rows that are added, its number among those of events.
  chunk_reach reach_;      ///< Of its rows so far.
  std::uint32_t rows_ = 0;
  std::vector<trace::transfer_event> transfers_;  ///< Among its rows.
  struct added_chunk {
    trace::row_type type{};
    std::uint32_t rows = 0;
    chunk_reach reach;
  };
  std::vector<added_chunk> added_;    ///< Since the last `look_at`.
  std::vector<std::size_t> numbers_;  ///< In the file, of the chunks that were added before.
  bool reads_ = false;                ///< Rows are read from the file, not added.
  bool other_chunks_ = false;         ///< `look_at` has found others than were added.
  bool unnumbered_ = false;           ///< An added row had no id.
  std::uint64_t events_ = 0;
  std::vector<std::string> unreadable_;
  std::uint64_t malformed_ = 0;
  std::vector<recorded_message> messages_;
  copy_contents contents_;
  std::map<trace::process_id, std::set<memory_key>> memories_;
  fault_index faults_;
  analysis::import_owners import_owners_;
  std::unordered_map<std::uint64_t, trace::string_id> categories_;
  std::uint64_t lowest_tagged_ = UINT64_MAX;
  process_clues clues_;
  step_marks marks_;
  id_set allocated_;
  id_set in_checkpoints_;  ///< Blocks that a checkpoint lists before any allocation row.
  std::vector<trace::live_block_event> only_in_checkpoints_;
  struct listed_blocks {
    loss_checkpoint of;
    bool seen = false;
    std::size_t blocks = 0;
  };
  first_losses losses_;
  std::map<trace::event_id, listed_blocks> checkpoints_;
  std::uint64_t touches_ = 0;
  touch_index graph_touches_;  ///< Only touches by graph nodes.
  std::set<trace::pool_id> with_segments_;
  std::set<trace::device_id> with_kernels_;
  std::map<std::pair<trace::sampled_thing, std::uint64_t>, trace::last_sample_row> first_samples_;
  std::map<trace::process_id, births_of_process> births_;
  std::size_t births_kept_ = 0;  ///< Number of births kept, of all processes.
  std::size_t most_births_;      ///< More are too many.
  time_ns newest_birth_ = -latest_time;
  std::size_t frees_kept_ = 0;  ///< Number of frees that births were not told of, of all processes.
  step_window window_;          ///< Halved when all births are too many.
};

/// What figures need of the whole recording. `malformed`: the rows that the pass over its sections counted. `known` must outlive
/// the result.
[[nodiscard]] unsectioned_facts unsectioned_facts_of(const recording_scan& known, std::uint64_t malformed);

template <class Row>
void recording_scan::add(const Row& row) {
  if (rows_++ == 0) reach_ = reach_of_no_rows<Row>(chunk_);
  add_to_reach(reach_, row);
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

}  // namespace sluice::analysis
