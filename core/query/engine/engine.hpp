#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "core/base/error.hpp"
#include "core/query/types/any_value.hpp"
#include "core/query/types/query_types.hpp"
#include "core/summary/memory_limit.hpp"
#include "core/trace/file/reader.hpp"

/// The queries of views, and the engine that computes their results. A query is a value that says what a view or a
/// command wants to know about a recording. Except for `ask_now`, asking does not block: it returns the result that is
/// ready. Tasks on other threads compute the rest and then wake the caller's event loop.
namespace sluice::query {

/// The part of a result that is ready. `value` is null before anything is ready, and may describe an older snapshot or
/// the previously requested range. In all of these cases `complete` is false, and a better value will follow.
template <class T>
struct query_result {
  std::shared_ptr<const T> value;
  bool complete = false;
  float progress = 0;  ///< 0..1
  std::optional<error> failure;
  [[nodiscard]] const T* operator->() const { return value.get(); }
  explicit operator bool() const { return value != nullptr; }
};

class asked_query;

/// Returns a query whose type is not known at compile time. Defined for all types of queries. Private to core/query.
template <class Query>
[[nodiscard]] std::shared_ptr<const asked_query> erase_type(std::shared_ptr<const Query> query);

struct engine_options {
  unsigned threads = 0;        ///< 0: one less than the number of cores, at least 1. Threads run at lower priority.
  std::function<void()> wake;  ///< Called from a task's thread when a better result is ready.
  /// The most memory in bytes for computing results from a file with summaries (data about the whole file, stored in
  /// it), whatever its size. With less memory, parts of the file are read again more often. A growing file is indexed
  /// in memory until the index would exceed this limit; from then on the file is summarized repeatedly, and results
  /// describe a slightly older snapshot until the recording ends. Metrics of the whole recording are older still,
  /// because the time to build them grows with the recording. The limit does not apply to the index of all events,
  /// which a few queries need, nor to a complete file without summaries (`summary::summed_up` creates them).
  std::size_t memory_bytes = summary::usual_memory_limit;
  /// For a recording that grows beyond `memory_bytes`: see `growing_summary_options::settles_after`.
  trace::time_ns live_settles_after = 1'000'000'000;
};

/// Computes the results of queries about one open trace; each document has one engine. Holds the index of the snapshot
/// that results describe, and extends the index after `refresh`. Thread-safe.
class engine {
 public:
  engine(std::shared_ptr<trace::file> file, engine_options options = {});
  ~engine();
  engine(const engine&) = delete;
  engine& operator=(const engine&) = delete;

  /// The snapshot that results describe.
  [[nodiscard]] std::shared_ptr<const trace::snapshot> snapshot() const;

  /// Starts a task that checks a live recording for new data; `snapshot` changes once results include that data.
  /// Returns immediately.
  void refresh();

  /// On platforms without threads (`has_threads`), computes results until the time `until`. Call it between frames.
  void work_here(std::chrono::steady_clock::time_point until);

  /// True while any task waits or runs. Screenshots are taken when this is false.
  [[nodiscard]] bool busy() const;

  /// Runs a query synchronously, for the command line and tests: blocks until the result is complete.
  template <class Query>
  [[nodiscard]] result<std::shared_ptr<const typename Query::result_type>> ask_now(const Query& query) {
    return from_any<typename Query::result_type>(ask_any_now(*erase_type(std::make_shared<const Query>(query))));
  }

 private:
  friend class any_slot;
  struct state;
  [[nodiscard]] result<any_value> ask_any_now(const asked_query& query);

  std::shared_ptr<state> state_;
};

/// A slot for queries of one type that is not known at compile time. Private to core/query.
class any_slot {
 public:
  any_slot();
  ~any_slot();
  any_slot(any_slot&&) noexcept;
  any_slot& operator=(any_slot&&) noexcept;
  query_result<void> ask(engine& source, const std::shared_ptr<const asked_query>& query);

 private:
  struct cell;
  std::shared_ptr<cell> current_;
  std::uint64_t serial_ = 0;  ///< The number of the engine that `current_` queries.
};

/// One query of a view. The view asks the slot every frame and gets the result that is ready. Asking a different query,
/// or destroying the slot, cancels the previous query. Use from one thread.
template <class Query>
class slot {
 public:
  using value_type = typename Query::result_type;

  /// Never blocks. O(1) if nothing changed. A panning view asks a new query every frame. `value` is then the last
  /// finished result; its `range` tells what it covers. A running task finishes and its result is shown even if the
  /// query has changed, so that a view that changes every frame still gets results.
  query_result<value_type> ask(engine& source, const Query& query) {
    if (query_ == nullptr || !(*query_ == query)) {
      query_ = std::make_shared<const Query>(query);
      asked_ = erase_type(query_);
    }
    query_result<void> found = slot_.ask(source, asked_);
    return {std::static_pointer_cast<const value_type>(std::move(found.value)), found.complete, found.progress,
            std::move(found.failure)};
  }

 private:
  std::shared_ptr<const Query> query_;
  std::shared_ptr<const asked_query> asked_;  ///< The same query.
  any_slot slot_;
};

}  // namespace sluice::query
