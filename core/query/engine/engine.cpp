#include "core/query/engine/engine.hpp"

#include <algorithm>
#include <chrono>

#include "core/base/cancel.hpp"
#include "core/query/engine/engine_state.hpp"
#include "core/query/engine/find_result.hpp"
#include "core/query/results/panels/long_panels.hpp"

namespace sluice::query {
namespace {

using steady = std::chrono::steady_clock;

/// While the index is being built, a slot waits this many times as long as the last computation took before it computes
/// its result again. Expensive queries thus do not slow down the index that they wait for.
constexpr int refresh_share = 100;
/// The same for a growing recording with summaries, where recomputing delays only other results.
constexpr int live_share = 4;
/// A query that takes long lets other queries run after `long_slice`, and publishes partial results every
/// `long_interval`.
constexpr auto long_slice = std::chrono::milliseconds(20);
constexpr auto long_interval = std::chrono::milliseconds(200);

}  // namespace

engine::engine(std::shared_ptr<trace::file> file, engine_options options)
    : state_(std::make_shared<state>(std::move(file), std::move(options))) {
  state_->pool.add(state::long_tasks, [s = state_.get()] { s->load(); });
}

engine::~engine() { state_->pool.stop(); }

std::shared_ptr<const trace::snapshot> engine::snapshot() const { return state_->current(); }

void engine::refresh() {
  if (state_->refreshing.exchange(true)) return;
  state_->pool.add(state::long_tasks, [s = state_.get()] { s->poll(); });
}

void engine::work_here(std::chrono::steady_clock::time_point until) { state_->pool.work_here(until); }

bool engine::busy() const { return state_->pool.busy() || state_->sums.busy(); }

template <class Query>
result<std::shared_ptr<const typename Query::result_type>> engine::ask_now(const Query& query) {
  using value_type = typename Query::result_type;
  const auto shared = [](result<value_type>&& found) -> result<std::shared_ptr<const value_type>> {
    if (!found) return tl::unexpected<error>(found.error());
    return std::make_shared<const value_type>(std::move(*found));
  };
  bool provisional = false;
  {
    std::unique_lock lock(state_->mutex);
    state_->changed.wait(lock, [this] { return state_->loaded; });
  }
  state::view now;
  for (bool built = false; !built;) {
    now = state_->seen();
    const sources by{
        state_->nothing,  *now.trace, never_cancelled, state_->frames, symbols::frame_cache::lookup::at_once,
        now.stored.get(), nullptr,    provisional};
    if constexpr (draws<Query> && requires { query.range; }) state_->read_ahead_of(query.range, query.width);
    auto found = now.stored ? find_result(query, by) : std::nullopt;
    if (found) return shared(std::move(*found));
    if (const auto result = start_long_result(query, by)) {
      const auto done = result->work(steady::time_point::max(), never_cancelled);
      return done ? shared(result->so_far(provisional)) : tl::unexpected<error>(done.error());
    }
    state_->want_index();
    std::unique_lock lock(state_->mutex);
    // A growing recording may have been summarized meanwhile.
    state_->changed.wait(lock, [&] { return state_->built || state_->summaries != now.stored; });
    built = state_->built;
    now.trace = state_->target;
    now.index = state_->index;
  }
  const std::shared_lock lock(state_->index_mutex);
  if (now.index->tensors_are_old()) now.index->update_tensors(*now.trace);
  return shared(result_to(query, sources{*now.index, *now.trace, never_cancelled, state_->frames,
                                         symbols::frame_cache::lookup::at_once, nullptr, nullptr, provisional}));
}

/// State shared by a slot and its task. The task may outlive the slot.
template <class Query>
struct slot<Query>::state {
  using value_type = typename Query::result_type;
  /// A query that takes long, computed by consecutive tasks.
  struct work {
    const Query query;
    const std::shared_ptr<const trace::snapshot> trace;
    const std::shared_ptr<const stored_sources> stored;
    const std::uint64_t generation;
    bool fresh = false;  ///< No result of this query is shown yet, so a partial result is better than none.
    std::unique_ptr<long_result<value_type>> result{};  ///< Refers to the other members.
    steady::time_point published{};
    bool never_provisional = false;
  };
  struct cell {
    std::mutex mutex;  ///< Held only briefly.
    std::atomic<bool> cancelled{false};
    Query wanted;
    bool running = false;  ///< A task that computes the result is queued or running.
    bool reading = false;  ///< A task that reads data which was not in memory is queued or running.
    std::shared_ptr<const value_type> value;
    std::optional<error> failure;
    std::optional<Query> answered;
    std::uint64_t generation = 0;  ///< The engine's generation when the result was computed.
    bool complete = false;         ///< The index was complete at that time, or was not needed.
    bool stored = false;           ///< The index was not needed, so its growth does not change the result.
    bool old = false;              ///< Steps and categories were slightly older than the rest, so the slot asks again.
    summary::bin_detail detail{};  ///< How exact a drawing from memory is.
    bool provisional = false;      ///< Some native functions in the result had no names yet.
    std::uint64_t symbols = 0;     ///< The number of batches of names that had been resolved at that time.
    steady::time_point when;
    steady::duration took{};         ///< How long the computation took.
    float progress = 0;              ///< The progress of a query that takes long, 0..1.
    std::unique_ptr<work> going_on;  ///< Owned by the task.
  };
  std::shared_ptr<cell> current = std::make_shared<cell>();
  std::uint64_t serial = 0;  ///< The number of the engine that `current` queries.

  ~state() { current->cancelled = true; }

  /// A drawing has a first result that needs no read, so its task is quick.
  static void queue(engine::state& origin, const std::shared_ptr<cell>& at) {
    if constexpr (draws<Query>)
      origin.pool.add(engine::state::quick_tasks, [&origin, at] { run(origin, at); });
    else
      origin.pool.add(engine::state::long_tasks, [&origin, at] { run(origin, at); });
  }

  static void run(engine::state& origin, const std::shared_ptr<cell>& at) {
    const Query query = get_wanted(at);
    if (at->cancelled) return;
    const engine::state::view now = origin.seen();
    const work* begun = at->going_on.get();
    // A growing recording gets new summaries before a long result is complete, so that result is finished first.
    const bool same_sums = begun != nullptr && (begun->stored == now.stored || origin.summed_up_live);
    if (begun != nullptr && begun->query == query && same_sums) return go_on(origin, at);
    std::optional<result<value_type>> at_hand;
    if constexpr (draws<Query>) {
      auto detail = summary::bin_detail::exact;
      at_hand = draw(origin, now, at, query, drawn_from::memory, detail);
      if constexpr (requires { query.range; }) origin.read_ahead_of(query.range, query.width);
      if (detail != summary::bin_detail::exact && at_hand)
        return show(origin, now, at, query, std::move(**at_hand), detail, false);
    }
    work_out(origin, now, at, query, std::move(at_hand), false);
  }

  /// Draws from the file's summaries, reading no more than `reads` allows. Returns nullopt if the file has no
  /// summaries, or after a failure if more can be read.
  static std::optional<result<value_type>> draw(engine::state& origin, const engine::state::view& now,
                                                const std::shared_ptr<cell>& at, const Query& query, drawn_from reads,
                                                summary::bin_detail& detail) {
    if (!now.stored) return std::nullopt;
    bool provisional = false;
    auto drawn =
        find_result(query, sources{origin.nothing, *now.trace, at->cancelled, origin.frames,
                                   symbols::frame_cache::lookup::later, now.stored.get(), &detail, provisional, reads});
    if (detail != summary::bin_detail::exact && drawn && !*drawn) drawn.reset();
    return drawn;
  }

  static Query get_wanted(const std::shared_ptr<cell>& at) {
    const std::scoped_lock lock(at->mutex);
    return at->wanted;
  }

  /// Returns the previous result of the same query, or null.
  static std::shared_ptr<const value_type> answered_before(const std::shared_ptr<cell>& at, const Query& query) {
    const std::scoped_lock lock(at->mutex);
    return at->answered && *at->answered == query ? at->value : nullptr;
  }

  /// If the query takes long, prepares `going_on` for it and returns true.
  static bool takes_long(engine::state& origin, const engine::state::view& now, const std::shared_ptr<cell>& at,
                         const Query& query) {
    auto begun = std::unique_ptr<work>(new work{query, now.trace, now.stored, now.generation});
    begun->result = start_long_result(
        query, sources{origin.nothing, *begun->trace, at->cancelled, origin.frames, symbols::frame_cache::lookup::later,
                       begun->stored.get(), nullptr, begun->never_provisional});
    const std::scoped_lock lock(at->mutex);
    begun->fresh = !at->answered || !(*at->answered == query);
    at->going_on = begun->result ? std::move(begun) : nullptr;
    return at->going_on != nullptr;
  }

  /// Works for `long_slice`, publishes the partial result, then queues itself again so that other queries run.
  static void go_on(engine::state& origin, const std::shared_ptr<cell>& at) {
    work& now = *at->going_on;
    const std::uint64_t names = origin.frames.generation();
    const auto done = now.result->work(steady::now() + long_slice, at->cancelled);
    if (at->cancelled) return;
    const bool ended = !done || *done;
    const bool publishes = ended || (now.fresh && steady::now() - now.published >= long_interval);
    bool provisional = false;
    result<value_type> known = !done ? tl::unexpected(done.error()) : fail(error_code::cancelled, "not requested");
    if (publishes && done) known = now.result->so_far(provisional);
    if (publishes) now.published = steady::now();
    {
      const std::scoped_lock lock(at->mutex);
      const bool still_wanted = at->wanted == now.query;
      at->progress = now.result->progress();
      if (still_wanted && publishes) {
        at->failure = known ? std::nullopt : std::optional(known.error());
        if (known) at->value = std::make_shared<const value_type>(std::move(*known));
        at->answered = now.query;
        at->generation = now.generation;
        at->complete = ended && !provisional;
        at->stored = ended && !now.trace->growing();
        at->old = false;
        at->provisional = provisional;
        at->symbols = names;
        at->when = steady::now();
      }
      at->running = !ended || !still_wanted;
      // While functions have no names yet, `going_on` is kept, because the same result is published again with names.
      if (ended && !provisional) at->going_on.reset();
      if (at->running) queue(origin, at);
    }
    if (origin.frames.wants_work()) origin.pool.add(engine::state::long_tasks, [&origin] { origin.find_symbols(); });
    if (publishes) origin.wake();
  }

  /// Shows a coarse drawing, which is better than the previous query's result until more is read. `reading`: called by
  /// the task that reads.
  static void show(engine::state& origin, const engine::state::view& now, const std::shared_ptr<cell>& at,
                   const Query& query, value_type&& drawn, summary::bin_detail detail, bool reading) {
    {
      const std::scoped_lock lock(at->mutex);
      const bool still_wanted = at->wanted == query;
      // A coarse drawing must not replace an exact drawing of a growing recording.
      const bool drawn_before = now.trace->growing() && at->complete && at->answered && *at->answered == query;
      if ((still_wanted || !reading) && !drawn_before) {
        at->value = std::make_shared<const value_type>(std::move(drawn));
        at->failure.reset();
        at->answered = query;
        at->generation = now.generation;
        at->complete = false;
        at->stored = at->old = false;
      }
      if (still_wanted || !reading) at->detail = detail;
      if (!reading) at->running = !still_wanted;
      if (!reading && at->running) queue(origin, at);
      if (reading || !at->reading) read(origin, at);
    }
    origin.wake();
  }

  /// Queues tasks that complete the result that was shown from memory. The next query can be answered meanwhile. The
  /// caller holds the cell's mutex.
  static void read(engine::state& origin, const std::shared_ptr<cell>& at) {
    at->reading = true;
    origin.pool.add(engine::state::long_tasks, [&origin, at] { read_next(origin, at); });
  }

  /// Reads the tiles first. Thus the tiles of all tracks are shown before sections, which take longer, are read.
  static void read_next(engine::state& origin, const std::shared_ptr<cell>& at) {
    const Query query = get_wanted(at);
    const engine::state::view now = origin.seen();
    std::optional<result<value_type>> drawn;
    if constexpr (draws<Query>) {
      auto detail = summary::bin_detail::exact;
      if (lacks_tiles(at)) drawn = draw(origin, now, at, query, drawn_from::tiles, detail);
      if (detail != summary::bin_detail::exact && drawn)
        return show(origin, now, at, query, std::move(**drawn), detail, true);
    }
    work_out(origin, now, at, query, std::move(drawn), true);
  }

  static bool lacks_tiles(const std::shared_ptr<cell>& at) {
    const std::scoped_lock lock(at->mutex);
    return at->detail == summary::bin_detail::of_kept_tiles;
  }

  /// Computes the complete result. `by_file`: the result from the file's own data, if known.
  static void work_out(engine::state& origin, const engine::state::view& now, const std::shared_ptr<cell>& at,
                       const Query& query, std::optional<result<value_type>> by_file, bool reading) {
    if (at->cancelled) return;
    std::uint64_t generation = now.generation;
    bool complete = false;
    bool provisional = false;
    const std::uint64_t names = origin.frames.generation();
    result<value_type> found = fail(error_code::cancelled, "the query was cancelled");
    const auto begin = steady::now();
    if (!by_file && now.stored) {
      by_file =
          find_result(query, sources{origin.nothing, *now.trace, at->cancelled, origin.frames,
                                     symbols::frame_cache::lookup::later, now.stored.get(), nullptr, provisional});
    }
    if (!by_file) {
      if constexpr (!draws<Query>) {
        if (takes_long(origin, now, at, query)) return go_on(origin, at);
      }
      if (now.stored) origin.want_index();
    }
    const bool stored = by_file.has_value() && !now.trace->growing();
    bool old = false;
    if (by_file) {
      found = std::move(*by_file);
      complete = true;
    } else {
      const std::shared_lock lock(origin.index_mutex);
      // If the index was replaced meanwhile, the result belongs to an older generation.
      if (origin.seen().index == now.index) {
        complete = origin.complete;
        generation = origin.generation;
      }
      const sources whole{*now.index, *now.trace, at->cancelled, origin.frames, symbols::frame_cache::lookup::later,
                          nullptr,    nullptr,    provisional};
      if (now.index->tensors_are_old()) static_cast<void>(now.index->tensors(*now.trace));
      if constexpr (std::is_same_v<Query, step_statistics_query>) {
        found = result_after(answered_before(at, query).get(), query, whole);
      } else {
        found = result_to(query, whole);
      }
      old = now.index->tensors_are_old();
    }
    if (at->cancelled) return;
    {
      const std::scoped_lock lock(at->mutex);
      const bool still_wanted = at->wanted == query;
      if (still_wanted || !reading) {
        if (found) {
          at->value = std::make_shared<const value_type>(std::move(*found));
          at->failure.reset();
        } else {
          at->failure = found.error();
        }
        at->answered = query;
        at->generation = generation;
        at->complete = complete && !provisional && !old;
        at->stored = stored;
        at->old = old;
        at->provisional = provisional;
        at->symbols = names;
        at->when = steady::now();
        at->took = at->when - begin;
      }
      if (!reading) {
        at->running = !still_wanted;
        if (at->running) queue(origin, at);
      } else {
        at->reading = false;
        // Meanwhile, the wanted query may have been shown from memory. Then its data must still be read; otherwise its
        // task is already queued.
        if (!still_wanted && at->answered && *at->answered == at->wanted && !at->complete) read(origin, at);
      }
    }
    if (origin.frames.wants_work()) origin.pool.add(engine::state::long_tasks, [&origin] { origin.find_symbols(); });
    origin.wake();
  }

  query_result<value_type> ask(engine::state& origin, const Query& query) {
    if (serial != origin.serial) {
      current->cancelled = true;
      current = std::make_shared<cell>();
      serial = origin.serial;
    }
    cell& at = *current;
    const std::scoped_lock lock(at.mutex);
    const bool same = at.answered && *at.answered == query;
    const bool unnamed = at.provisional && at.symbols != origin.frames.generation();
    const bool up_to_date = at.stored || at.generation == origin.generation.load();
    const bool newest = same && up_to_date && !unnamed && !at.old;
    const int share = origin.summed_up_live ? live_share : refresh_share;
    const auto pause = std::max<steady::duration>(refresh_interval, at.took * share);
    const bool may_wait = !origin.complete || origin.summed_up_live || (at.old && up_to_date && !unnamed);
    const bool soon_enough = same && may_wait && steady::now() - at.when < pause;
    if (!newest && !soon_enough) {
      at.wanted = query;
      if (!at.running) {
        at.running = true;
        queue(origin, current);
      }
    }
    const bool complete = newest && at.complete;
    // A query that takes long does not wait for the index.
    const float progress = at.going_on ? at.progress : origin.progress.load();
    return {at.value, complete, complete ? 1.0F : progress, same ? at.failure : std::nullopt};
  }
};

template <class Query>
slot<Query>::slot() : state_(std::make_unique<state>()) {}
template <class Query>
slot<Query>::~slot() = default;
template <class Query>
slot<Query>::slot(slot&&) noexcept = default;
template <class Query>
slot<Query>& slot<Query>::operator=(slot&&) noexcept = default;

template <class Query>
query_result<typename Query::result_type> slot<Query>::ask(engine& source, const Query& query) {
  return state_->ask(*source.state_, query);
}

#define SLUICE_QUERY(Q)                                                                \
  template result<std::shared_ptr<const Q::result_type>> engine::ask_now<Q>(const Q&); \
  template class slot<Q>;
SLUICE_FOR_EACH_QUERY(SLUICE_QUERY)
#undef SLUICE_QUERY

}  // namespace sluice::query
