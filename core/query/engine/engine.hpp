#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "core/base/error.hpp"
#include "core/figures/range_statistics.hpp"
#include "core/figures/report.hpp"
#include "core/query/answers/answer_types.hpp"
#include "core/query/answers/panels/memory_groups.hpp"
#include "core/summary/memory_limit.hpp"
#include "core/trace/file/reader.hpp"

/// The questions of views, and their answers. Asking does not block (except `ask_now`): the answer is what is ready
/// now. Tasks on other threads compute the rest and wake the caller's loop.
namespace sluice::query {

/// The answer as far as it is ready. `value` is null before anything is ready; it may be about an older snapshot or the
/// range asked before. `complete` is false in all of these cases, and a better value will follow.
template <class T>
struct answer {
  std::shared_ptr<const T> value;
  bool complete = false;
  float progress = 0;  ///< 0..1
  std::optional<error> failure;
  [[nodiscard]] const T* operator->() const { return value.get(); }
  explicit operator bool() const { return value != nullptr; }
};

struct tracks_question {
  friend bool operator==(const tracks_question&, const tracks_question&) = default;
  using answer_type = track_list;
};

struct slices_question {
  std::uint64_t track = 0;
  time_range range;
  std::uint32_t width = 0;  ///< Pixels; slices narrower than one are merged.
  friend bool operator==(const slices_question&, const slices_question&) = default;
  using answer_type = slice_list;
};

/// The curves of a memory, pool, bandwidth or counter track.
struct series_question {
  std::uint64_t track = 0;
  time_range range;
  std::uint32_t width = 0;
  bool by_category = false;  ///< Show layers with tensors as one band for each category.
  friend bool operator==(const series_question&, const series_question&) = default;
  using answer_type = series;
};

/// Blocks that were live at some time in `range`, and pass all of the filters.
struct blocks_question {
  time_range range;
  std::optional<trace::layer> layer;
  bool only_unfreed = false;
  block_column sort = block_column::bytes;
  bool descending = true;
  /// Part of the name, of the address in hex, or of a line of the call stack (its place or function) or its module;
  /// upper and lower case are the same.
  std::string filter;
  std::size_t rows = block_table::row_limit;  ///< Return at most this many rows, the first; counts and sums are of all.
  std::optional<symbols::attribution> by{};   ///< For `block_table::asked_by`; none: the most even, of these rows.
  std::optional<analysis::category> category{};
  std::uint64_t least_bytes = 0;  ///< Only blocks of at least this size.
  bool only_unused = false;       ///< Only blocks that no launch and no copy named. None if no uses were recorded.
  std::optional<trace::device_id> device{};  ///< None: of all devices. `device_id::none`: of no device.
  std::optional<trace::memory_kind> kind{};
  trace::process_id process{};           ///< None: of all processes.
  std::optional<block_groups> groups{};  ///< As in the answer to a `memory_groups_question`.
  bool with_uses = false;  ///< Fill in first and last uses. Costs reading them from a recording with sections.
  /// True if an answer needs the uses of blocks.
  [[nodiscard]] bool needs_uses() const;
  friend bool operator==(const blocks_question&, const blocks_question&) = default;
  using answer_type = block_table;
};

/// Asks for the figures of a range, computed by the function that the report uses.
struct statistics_question {
  time_range range;
  friend bool operator==(const statistics_question&, const statistics_question&) = default;
  using answer_type = analysis::range_statistics;
};

/// Asks for the report on the whole trace.
struct report_question {
  friend bool operator==(const report_question&, const report_question&) = default;
  using answer_type = analysis::report;
};

/// Which event is meant: the given one, or the nearest one before or after it that has the same name.
enum class same_name : std::uint8_t { itself, previous, next };

struct details_question {
  trace::event_id event{};
  trace::block_id block{};              ///< If set, ask about this block instead of an event.
  same_name which = same_name::itself;  ///< Kernels, calls and ranges have names; copies have directions.
  friend bool operator==(const details_question&, const details_question&) = default;
  using answer_type = event_details;
};

/// What the first level of a tree of stacks is: the callers, or a group of stacks that are attributed to the same.
struct stack_grouping {
  bool grouped = false;
  std::optional<symbols::attribution> by{};  ///< None: what splits the bytes most evenly (`analysis::most_even`).
  friend bool operator==(const stack_grouping&, const stack_grouping&) = default;
};

/// Asks which call stacks hold memory, allocate it or copy it.
struct stacks_question {
  time_range range;
  stack_measure measure = stack_measure::peak;
  time_ns at = 0;                       ///< The moment, for the measure `live`.
  std::optional<trace::layer> layer{};  ///< None: one is chosen, see `stack_view::choice`.
  std::optional<trace::device_id> device{};
  std::optional<trace::memory_kind> kind{};
  std::optional<trace::direction> direction{};  ///< For the measure `transferred`.
  analysis::stack_weight weight = analysis::stack_weight::bytes;
  analysis::stack_order order = analysis::stack_order::from_caller;
  bool fold = false;  ///< Hide lines of libraries, except the innermost line of each stack.
  stack_grouping grouping{};
  friend bool operator==(const stacks_question&, const stacks_question&) = default;
  using answer_type = stack_view;
};

struct messages_question {
  friend bool operator==(const messages_question&, const messages_question&) = default;
  using answer_type = std::vector<message>;
};

/// Asks for events whose name contains a text, ignoring case: kernels, calls, ranges, markers, graphs, files,
/// allocations. Reads the file without an index: O(events), most of which cost a few bytes of one column.
struct search_question {
  std::string text;  ///< Empty: nothing is found.
  friend bool operator==(const search_question&, const search_question&) = default;
  using answer_type = search_results;
};

/// Asks what a framework's allocator would have reserved under `replay::policies_for` it. Reads all of a recording's
/// memory events, then replays them policy by policy: O(policies * requests * log live blocks).
struct what_if_question {
  friend bool operator==(const what_if_question&, const what_if_question&) = default;
  using answer_type = what_if_curves;
};

/// Has questions answered elsewhere: engine/answerer.hpp.
class answerer;

struct engine_options {
  unsigned threads = 0;        ///< 0: cores - 1, at least 1. They run at lower priority.
  std::function<void()> wake;  ///< Called from a task's thread when a better answer is ready.
  /// Memory in bytes that the program may use to answer questions about a file with summaries, however large. With
  /// less, parts of the file are read again more often. A growing file is held in memory until that would take more;
  /// then it is summed up again and again, and answers are about a somewhat older snapshot until the file ends, and figures
  /// of the whole recording about a still older one, since building them takes longer the longer it is. Not limited: an index of all events, which a few questions need, and a file without summaries that does not
  /// grow (`analysis::summed_up` makes some).
  std::size_t memory_bytes = analysis::usual_memory_limit;
  /// Of a recording that grows beyond that: see `growing_summary_options::settles_after`.
  trace::time_ns live_settles_after = 1'000'000'000;
  /// Where questions are answered if the rows of the recording are not here (`trace::file::without_rows`).
  std::shared_ptr<answerer> elsewhere{};
};

/// Answers questions about one open trace; each document has one engine. Holds the index of the snapshot that answers
/// are about, and updates it after `refresh`. Thread-safe.
class engine {
 public:
  engine(std::shared_ptr<trace::file> file, engine_options options = {});
  ~engine();
  engine(const engine&) = delete;
  engine& operator=(const engine&) = delete;

  /// The snapshot that answers are about.
  [[nodiscard]] std::shared_ptr<const trace::snapshot> snapshot() const;

  /// Starts a task that looks for new data of a live recording; `snapshot` changes once answers include it. Cheap.
  void refresh();

  /// Where there are no threads (`has_threads`), works on answers until the time is over: call it between frames.
  void work_here(std::chrono::steady_clock::time_point until);

  /// True while any task waits or runs. A screenshot waits until this is false.
  [[nodiscard]] bool busy() const;

  /// Answers a question synchronously, for the command line and tests: blocks until the answer is complete.
  template <class Question>
  [[nodiscard]] result<std::shared_ptr<const typename Question::answer_type>> ask_now(const Question& question);

 private:
  template <class Question>
  friend class slot;
  struct state;
  std::shared_ptr<state> state_;
};

/// One question of a view, asked every frame and answered from what is ready. Asking a different question, or
/// destroying the slot, cancels the previous one. Use from one thread.
template <class Question>
class slot {
 public:
  slot();
  ~slot();
  slot(slot&&) noexcept;
  slot& operator=(slot&&) noexcept;

  /// O(1) when nothing changed. Never blocks. A panning view asks a new question every frame: `value` is then the last
  /// finished answer (its `range` says for what). A running task may finish and be shown, so that the work does not
  /// start over forever.
  answer<typename Question::answer_type> ask(engine& from, const Question& question);

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace sluice::query
