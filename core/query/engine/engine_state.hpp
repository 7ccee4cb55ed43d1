#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <shared_mutex>

#include "core/base/threads/thread_pool.hpp"
#include "core/index/growing_index.hpp"
#include "core/query/engine/engine.hpp"
#include "core/query/engine/live_summarizer.hpp"
#include "core/query/sources/sources.hpp"

namespace sluice::query {

/// While the index is being built, results are updated and `wake` is called at most this often.
inline constexpr auto refresh_interval = std::chrono::milliseconds(250);

/// The data from which an engine computes results. It follows a growing file in one of two ways. Usually, data appended
/// to the file is added to `index`, which covers all data. If that index would take too much memory, `summaries`
/// describe a slightly older snapshot, and newer summaries replace them from time to time. Thread-safe. Private to
/// core/query.
struct engine::state {
  using steady = std::chrono::steady_clock;
  state(std::shared_ptr<trace::file> f, engine_options o);

  /// A consistent copy of the members at one time.
  struct view {
    std::shared_ptr<const trace::snapshot> trace;
    std::shared_ptr<const stored_sources> stored;  ///< The file's summaries; null if there are none, or before `load`.
    std::shared_ptr<index::growing_index> index;   ///< Read it only while holding `index_mutex`.
    std::uint64_t generation = 0;
  };

  const std::uint64_t serial;
  const engine_options options;

  std::mutex mutex;  ///< Guards the members from `opened` to `building`; never held while reading a file or computing.
  std::condition_variable changed;
  std::shared_ptr<trace::file> opened;
  std::shared_ptr<const trace::snapshot> target;    ///< The snapshot that results describe.
  std::shared_ptr<const stored_sources> summaries;  ///< The summaries of `target`; null if there are none.
  std::shared_ptr<index::growing_index> index = std::make_shared<index::growing_index>();
  std::shared_ptr<const trace::snapshot> unseen;  ///< A newer snapshot, found before `loaded`.
  bool loaded = false;                            ///< `load` has determined whether the file has summaries.
  bool can_be_summed_up = true;                   ///< False after a failure to build a summary that was needed.
  bool index_wanted = false;                      ///< A query needs `index`, or there are no summaries.
  bool built = false;                             ///< `index` covers all of `target`.
  bool building = false;                          ///< A task is building `index`.

  const index::growing_index nothing;  ///< An empty index, for results that do not need one.
  std::shared_mutex index_mutex;
  std::atomic<std::uint64_t> generation{0};  ///< Increases when results may change.
  std::atomic<float> progress{0};
  std::atomic<bool> complete{false};  ///< Results are final: `index` is built, or no query has needed it so far.
  std::atomic<bool> refreshing{false};
  std::atomic<bool> summed_up_live{
      false};  ///< Results are computed from summaries of a growing recording, and change repeatedly.
  steady::time_point woken = steady::now();  ///< When the building task last called `wake`.

  symbols::frame_cache frames;

  /// The queues of `pool`. A quick task takes less time than a frame; it has a thread that runs no long ones.
  static constexpr std::size_t quick_tasks = 0, long_tasks = 1;
  thread_pool pool;      ///< Its threads use the members above.
  live_summarizer sums;  ///< Its thread uses the members above.

  void wake() const {
    if (options.wake) options.wake();
  }

  [[nodiscard]] view seen();
  /// Returns the data of the file's summaries, or, with `by_index`, that of the index.
  [[nodiscard]] sources by_file(const view& now, const std::atomic<bool>& cancelled,
                                symbols::frame_cache::lookup lookup, bool& provisional) {
    return {nothing, *now.trace, cancelled, frames, lookup, now.stored.get(), nullptr, provisional};
  }
  [[nodiscard]] sources by_index(const view& now, const std::atomic<bool>& cancelled,
                                 symbols::frame_cache::lookup lookup, bool& provisional) {
    return {*now.index, *now.trace, cancelled, frames, lookup, nullptr, nullptr, provisional};
  }
  [[nodiscard]] std::shared_ptr<const trace::snapshot> current() { return seen().trace; }

  /// Opens the file's summaries. If there are none, starts building the index before any query needs it.
  void load();
  /// Starts building the index, for a query that the file's summaries cannot answer.
  void want_index();
  /// Checks for data appended to the file, and for a new file that replaced it.
  void poll();
  /// Resolves the names of native functions for a short time, then queues itself again if some are left.
  void find_symbols();
  /// Starts reading the data that a view will need after it asked `query`.
  void read_ahead_of(const asked_query& query);

 private:
  /// Queues `build`, unless a task is already building. The caller holds `mutex`.
  void start_building();
  /// Adds chunks to `index` for about 10 ms, then queues itself again, until `index` covers `target`.
  void build();
  /// Makes results describe `newest`, which has more data or belongs to another file: immediately if its data can be
  /// added to `index`, otherwise when `sums` has summarized it. The caller holds `mutex`.
  void follow(std::shared_ptr<const trace::snapshot> newest);
  void take(live_summarizer::outcome output);
  /// Reads one tile or section ahead, then queues itself again if some are left.
  void read_on(const std::shared_ptr<prefetcher>& ahead);
};

}  // namespace sluice::query
