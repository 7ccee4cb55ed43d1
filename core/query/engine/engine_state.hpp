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

/// While the index is being built, an answer is worked out again at most this often, and the caller's loop woken.
inline constexpr auto refresh_interval = std::chrono::milliseconds(250);

/// What an engine's questions are answered from, and how that keeps up with a file that grows. Either the index takes in all that is
/// there, and goes on; or, where that would take too much memory, `summaries` are of a snapshot of a while ago, and then of another. Thread-safe.
/// Private to core/query.
struct engine::state {
  using steady = std::chrono::steady_clock;
  state(std::shared_ptr<trace::file> f, engine_options o);

  /// What belongs together, at one moment.
  struct view {
    std::shared_ptr<const trace::snapshot> trace;
    std::shared_ptr<const stored_sources> stored;    ///< What the file says of itself; null while nothing is known.
    std::shared_ptr<analysis::growing_index> index;  ///< To be read under `index_mutex`.
    std::uint64_t generation = 0;
  };

  const std::uint64_t serial;
  const engine_options options;

  std::mutex mutex;  ///< Guards what follows; never held while reading a file or computing.
  std::condition_variable changed;
  std::shared_ptr<trace::file> opened;
  std::shared_ptr<const trace::snapshot> target;    ///< What answers are about.
  std::shared_ptr<const stored_sources> summaries;  ///< What its file says of itself; null if nothing.
  std::shared_ptr<analysis::growing_index> index = std::make_shared<analysis::growing_index>();
  std::shared_ptr<const trace::snapshot> unseen;  ///< Found while summaries were looked for.
  bool loaded = false;                            ///< It is known whether there are summaries.
  bool can_be_summed_up = true;                   ///< As far as is known.
  bool index_wanted = false;                      ///< Of `target`:
  bool built = false;                             ///< the index covers it,
  bool building = false;                          ///< or a task works on it.

  const analysis::growing_index nothing;  ///< For answers that need none.
  std::shared_mutex index_mutex;
  std::atomic<std::uint64_t> generation{0};  ///< Changes when answers may.
  std::atomic<float> progress{0};
  std::atomic<bool> complete{false};  ///< Answers are final: the index is built, or nobody has needed it so far.
  std::atomic<bool> refreshing{false};
  steady::time_point woken = steady::now();  ///< By the building task.

  symbols::frame_book frames;

  task_pool pool;        ///< Its threads use all of the above and end first;
  live_summarizer sums;  ///< and its one before them.

  void wake() const {
    if (options.wake) options.wake();
  }

  [[nodiscard]] view seen();
  /// What the file says of itself; null while that is not known.
  [[nodiscard]] std::shared_ptr<const stored_sources> stored() { return seen().stored; }
  [[nodiscard]] std::shared_ptr<const trace::snapshot> current() { return seen().trace; }

  /// Looks for what the file says of itself. Only where that is nothing the index is built before anybody needs it.
  void load();
  /// A question came that the file does not answer by itself.
  void want_index();
  /// Looks for what was appended, and for another file in the place of this one.
  void look_for_more();
  /// Names native functions for a while, then queues itself again.
  void find_symbols();
  /// A zoom or a drag shows what must be read first.
  void read_ahead_of(time_range seen, std::uint32_t width);

 private:
  /// The caller holds `mutex`.
  void start_building();
  /// Takes in chunks for a while, then queues itself again.
  void build();
  /// Answers are to be about what was appended, too, or about another file: at once, or once it is known what that says of itself, or
  /// it is summed up. The caller holds `mutex`.
  void follow(std::shared_ptr<const trace::snapshot> newest);
  void take(live_summarizer::outcome made);
  /// Reads one part, then queues itself again.
  void read_on(const std::shared_ptr<prefetcher>& ahead);
};

}  // namespace sluice::query
