#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "core/base/error.hpp"
#include "core/figures/range_statistics.hpp"
#include "core/figures/report.hpp"
#include "core/query/answers/answer_types.hpp"
#include "core/trace/file/reader.hpp"

/// Questions a view asks, and the answers as far as they are known. Nothing here blocks the caller: an answer is what
/// is ready now; tasks do the rest and wake the caller's loop.
namespace sluice::query {

/// What is known so far. `value` may be null while nothing is, may belong to an older snapshot or to the range asked
/// before; then `complete` is false and a better one is on its way.
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
  bool by_category = false;  ///< Layers that hold tensors as one band for each category.
  friend bool operator==(const series_question&, const series_question&) = default;
  using answer_type = series;
};

/// Blocks that were live at some time in `range`.
struct blocks_question {
  time_range range;
  std::optional<trace::layer> layer;
  bool only_unfreed = false;
  block_column sort = block_column::bytes;
  bool descending = true;
  std::string filter;                         ///< Part of the name or of the address in hex.
  std::size_t rows = block_table::row_limit;  ///< So many are wanted, the first ones; the sums are of all.
  friend bool operator==(const blocks_question&, const blocks_question&) = default;
  using answer_type = block_table;
};

/// The numbers of a range: the same function as the report's.
struct statistics_question {
  time_range range;
  friend bool operator==(const statistics_question&, const statistics_question&) = default;
  using answer_type = analysis::range_statistics;
};

/// The report's own figures for the whole trace.
struct report_question {
  friend bool operator==(const report_question&, const report_question&) = default;
  using answer_type = analysis::report;
};

struct details_question {
  trace::event_id event{};
  trace::block_id block{};  ///< Instead of an event.
  friend bool operator==(const details_question&, const details_question&) = default;
  using answer_type = event_details;
};

/// Which lines hold memory, allocate it or copy it.
struct stacks_question {
  time_range range;
  stack_measure measure = stack_measure::peak;
  time_ns at = 0;                       ///< For `live`.
  std::optional<trace::layer> layer{};  ///< None: the memory that says most, see `stack_view::choice`.
  std::optional<trace::device_id> device{};
  std::optional<trace::memory_kind> kind{};
  std::optional<trace::direction> direction{};  ///< For `transferred`.
  analysis::stack_weight weight = analysis::stack_weight::bytes;
  analysis::stack_order order = analysis::stack_order::from_caller;
  bool fold = false;  ///< Leaves out the lines of libraries, but for the innermost of a stack.
  friend bool operator==(const stacks_question&, const stacks_question&) = default;
  using answer_type = stack_view;
};

struct messages_question {
  friend bool operator==(const messages_question&, const messages_question&) = default;
  using answer_type = std::vector<message>;
};

/// Events whose name holds a text, in any case: kernels, calls, ranges, markers, graphs, files, allocations. Reads the file, not an
/// index: O(events), of which most cost a few bytes of one column.
struct search_question {
  std::string text;  ///< Empty: nothing is found.
  friend bool operator==(const search_question&, const search_question&) = default;
  using answer_type = search_results;
};

struct engine_options {
  unsigned threads = 0;        ///< 0: cores - 1, at least 1. They run at lower priority.
  std::function<void()> wake;  ///< Called from a task's thread when an answer got better.
  /// What the program may take of memory to answer questions about a file that sums itself up, however large: the less, the more
  /// often a part of the file is read again. A file that grows is held as a whole until that would take more; from then on what there is
  /// is summed up, and again when there is more, with pauses: answers are about a snapshot of some while ago until it ends. An index
  /// of all events, which a few questions take, is beyond it, and so is a file without summaries that does not grow
  /// (`analysis::summed_up` gives it some).
  std::size_t memory_bytes = 400'000'000;
};

/// Answers questions about one open trace. Thread-safe. One engine a document; it holds the index of the snapshot that
/// it answers from and brings it up to date after `refresh`.
class engine {
 public:
  engine(std::shared_ptr<trace::file> file, engine_options options = {});
  ~engine();
  engine(const engine&) = delete;
  engine& operator=(const engine&) = delete;

  /// The snapshot that answers are about.
  [[nodiscard]] std::shared_ptr<const trace::snapshot> snapshot() const;

  /// Looks, in a task, for what a live recording has appended; `snapshot` changes once answers are about that. Cheap to call often.
  void refresh();

  /// True while any task runs: a screenshot waits for it to end.
  [[nodiscard]] bool busy() const;

  /// The synchronous face, for the command line and tests: blocks until the answer is complete.
  template <class Question>
  [[nodiscard]] result<std::shared_ptr<const typename Question::answer_type>> ask_now(const Question& question);

 private:
  template <class Question>
  friend class slot;
  struct state;
  std::shared_ptr<state> state_;
};

/// A view's standing question: asked every frame, answered from what is ready. Asking something else, or destroying the
/// slot, cancels the question before. Used from one thread.
template <class Question>
class slot {
 public:
  slot();
  ~slot();
  slot(slot&&) noexcept;
  slot& operator=(slot&&) noexcept;

  /// O(1) when nothing changed. Never blocks. While a view pans it asks a new question every frame: `value` is then the
  /// last answer that was finished (its `range` says for what), and a task that has begun may finish and be shown
  /// rather than start again for ever.
  answer<typename Question::answer_type> ask(engine& from, const Question& question);

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace sluice::query
