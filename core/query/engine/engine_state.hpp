#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <shared_mutex>

#include "core/index/growing_index.hpp"
#include "core/query/answers/answer_functions.hpp"
#include "core/query/engine/engine.hpp"
#include "core/query/engine/live_summarizer.hpp"
#include "core/query/engine/task_pool.hpp"

namespace sluice::query {

/// The shortest time between two updates of an answer, and two calls of `wake`, while the index is being built.
inline constexpr auto refresh_interval = std::chrono::milliseconds(250);

/// The data that an engine answers from, and how it follows a growing file. Either `index` covers all data and absorbs
/// what is appended; or, if that would take too much memory, `summaries` describe a slightly older snapshot, and are
/// replaced by newer ones. Thread-safe. Private to core/query.
struct engine::state {
  using steady = std::chrono::steady_clock;
  state(std::shared_ptr<trace::file> f, engine_options o);

  /// A consistent copy of the members at one moment.
  struct view {
    std::shared_ptr<const trace::snapshot> trace;
    std::shared_ptr<const stored_sources> stored;    ///< The file's summaries; null: none, or not yet known.
    std::shared_ptr<analysis::growing_index> index;  ///< Read it only under `index_mutex`.
    std::uint64_t generation = 0;
  };

  const std::uint64_t serial;
  const engine_options options;

  std::mutex mutex;  ///< Guards `opened` to `building`; never held while reading a file or computing.
  std::condition_variable changed;
  std::shared_ptr<trace::file> opened;
  std::shared_ptr<const trace::snapshot> target;    ///< The snapshot that answers are about.
  std::shared_ptr<const stored_sources> summaries;  ///< The summaries of `target`; null if there are none.
  std::shared_ptr<analysis::growing_index> index = std::make_shared<analysis::growing_index>();
  std::shared_ptr<const trace::snapshot> unseen;  ///< A newer snapshot, found before `loaded`.
  bool loaded = false;                            ///< It is known whether the file has summaries.
  bool can_be_summed_up = true;                   ///< False once a needed summary could not be built.
  bool index_wanted = false;                      ///< A question needs `index`, or there are no summaries.
  bool built = false;                             ///< `index` covers `target`.
  bool building = false;                          ///< A task is building `index`.

  const analysis::growing_index nothing;  ///< An empty index, for answers that need none.
  std::shared_mutex index_mutex;
  std::atomic<std::uint64_t> generation{0};  ///< Increases when answers may change.
  std::atomic<float> progress{0};
  std::atomic<bool> complete{false};  ///< Answers are final: the index is built, or no question has needed it so far.
  std::atomic<bool> refreshing{false};
  std::atomic<bool> summed_up_live{
      false};  ///< Answers are from sums of a recording that grows, and change again and again.
  steady::time_point woken = steady::now();  ///< When the building task last called `wake`.

  symbols::frame_book frames;

  task_pool pool;        ///< Its threads use the members above.
  live_summarizer sums;  ///< Its thread uses the members above.

  void wake() const {
    if (options.wake) options.wake();
  }

  [[nodiscard]] view seen();
  /// The file's summaries; null: none, or not yet known.
  [[nodiscard]] std::shared_ptr<const stored_sources> stored() { return seen().stored; }
  [[nodiscard]] std::shared_ptr<const trace::snapshot> current() { return seen().trace; }

  /// Opens the file's summaries. If there are none, starts building the index before any question needs it.
  void load();
  /// Starts building the index, for a question that the file's summaries do not answer.
  void want_index();
  /// Looks for data appended to the file, and for a new file that replaced it.
  void look_for_more();
  /// Asks for the newer state of a recording whose rows are elsewhere.
  void look_elsewhere();
  /// Resolves names of native functions for a while, then queues itself again if there are more.
  void find_symbols();
  /// Starts to read what a view will need that shows `seen` on `width` pixels.
  void read_ahead_of(time_range seen, std::uint32_t width);

 private:
  /// Queues `build`, unless a task builds already. The caller holds `mutex`.
  void start_building();
  /// Adds chunks to `index` for some 10 ms, then queues itself again until `index` covers `target`.
  void build();
  /// Makes answers be about `newest`, which has more data or is of another file: at once if `index` can absorb it,
  /// otherwise once `sums` has summarized it. The caller holds `mutex`.
  void follow(std::shared_ptr<const trace::snapshot> newest);
  void take(live_summarizer::outcome made);
  /// Reads one tile or section ahead, then queues itself again if there are more.
  void read_on(const std::shared_ptr<prefetcher>& ahead);
};

}  // namespace sluice::query
