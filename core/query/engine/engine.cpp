#include "core/query/engine/engine.hpp"

#include <algorithm>
#include <chrono>

#include "core/base/cancel.hpp"
#include "core/query/engine/asked_query.hpp"
#include "core/query/engine/engine_state.hpp"

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

result<any_value> engine::ask_any_now(const asked_query& query) {
  constexpr auto at_once = symbols::frame_cache::lookup::at_once;
  bool provisional = false;
  {
    std::unique_lock lock(state_->mutex);
    state_->changed.wait(lock, [this] { return state_->loaded; });
  }
  state::view now;
  for (bool built = false; !built;) {
    now = state_->seen();
    state_->read_ahead_of(query);
    if (auto found = find_whole_result(query, state_->by_file(now, never_cancelled, at_once, provisional)))
      return *std::move(found);
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
  return query.compute(state_->by_index(now, never_cancelled, at_once, provisional), nullptr);
}

// --- slots ------------------------------------------------------------------------------------------------------------

/// State shared by a slot and its tasks. A task may outlive the slot.
struct any_slot::cell : std::enable_shared_from_this<any_slot::cell> {
  using query_pointer = std::shared_ptr<const asked_query>;
  static constexpr auto later = symbols::frame_cache::lookup::later;

  /// A query that takes long, computed by consecutive tasks.
  struct long_work {
    const query_pointer query;
    const engine::state::view from;
    bool fresh = false;  ///< No result of this query is shown yet, so a partial result is better than none.
    std::unique_ptr<any_long_result> result{};  ///< Refers to the other members.
    steady::time_point published{};
    bool never_provisional = false;
  };
  /// The query whose result is shown, and how the result was computed.
  struct shown_query {
    query_pointer query;
    std::uint64_t generation = 0;  ///< The engine's generation when the result was computed.
    bool complete = false;         ///< The index was complete at that time, or was not needed.
    bool stored = false;           ///< The index was not needed, so its growth does not change the result.
    bool old = false;              ///< Steps and categories were slightly older than the rest, so the slot asks again.
    bool provisional = false;      ///< Some native functions in the result had no names yet.
    std::uint64_t symbols = 0;     ///< The number of batches of names that had been resolved at that time.
    steady::time_point when{};
    steady::duration took{};  ///< How long the computation took.
  };

  explicit cell(engine::state& source) : origin(source) {}

  engine::state& origin;
  std::mutex mutex;  ///< Held only briefly.
  std::atomic<bool> cancelled{false};
  query_pointer wanted;
  bool running = false;  ///< A task that computes the result is queued or running.
  bool reading = false;  ///< A task that reads data which was not in memory is queued or running.
  any_value value;
  std::optional<error> failure;
  shown_query shown;
  summary::bin_detail detail{};         ///< How exact a drawing from memory is.
  float progress = 0;                   ///< The progress of a query that takes long, 0..1.
  std::unique_ptr<long_work> going_on;  ///< Owned by the task.

  static bool same(const query_pointer& a, const query_pointer& b) { return a == b || (a && b && a->equals(*b)); }

  /// A drawing has a first result that needs no read, so its task is quick.
  void queue() {
    const auto task = wanted->draws() ? engine::state::quick_tasks : engine::state::long_tasks;
    origin.pool.add(task, [self = shared_from_this()] { self->run(); });
  }

  void run() {
    const query_pointer query = get_wanted();
    if (cancelled) return;
    const engine::state::view now = origin.seen();
    // A growing recording gets new summaries before a long result is complete, so that result is finished first.
    if (going_on && same(going_on->query, query) && (going_on->from.stored == now.stored || origin.summed_up_live))
      return go_on();
    std::optional<result<any_value>> at_hand;
    if (query->draws()) {
      auto coarse = summary::bin_detail::exact;
      at_hand = draw(now, *query, drawn_from::memory, coarse);
      origin.read_ahead_of(*query);
      if (coarse != summary::bin_detail::exact && at_hand) return show(now, query, std::move(**at_hand), coarse, false);
    }
    work_out(now, query, std::move(at_hand), false);
  }

  /// Draws from the file's summaries, reading no more than `reads` allows. Returns nullopt if the file has no
  /// summaries, or after a failure if more can be read.
  std::optional<result<any_value>> draw(const engine::state::view& now, const asked_query& query, drawn_from reads,
                                        summary::bin_detail& coarse) {
    if (!now.stored) return std::nullopt;
    bool provisional = false;
    sources source = origin.by_file(now, cancelled, later, provisional);
    source.detail = &coarse;
    source.draws = reads;
    auto drawn = find_result(query, source);
    if (coarse != summary::bin_detail::exact && drawn && !*drawn) drawn.reset();
    return drawn;
  }

  query_pointer get_wanted() {
    const std::scoped_lock lock(mutex);
    return wanted;
  }

  /// If the query takes long, prepares `going_on` for it and returns true.
  bool takes_long(const engine::state::view& now, const query_pointer& query) {
    auto begun = std::unique_ptr<long_work>(new long_work{query, now});
    begun->result = query->start(origin.by_file(begun->from, cancelled, later, begun->never_provisional));
    const std::scoped_lock lock(mutex);
    begun->fresh = !same(shown.query, query);
    going_on = begun->result ? std::move(begun) : nullptr;
    return going_on != nullptr;
  }

  /// Works for `long_slice`, publishes the partial result, then queues itself again so that other queries run.
  void go_on() {
    long_work& now = *going_on;
    const std::uint64_t names = origin.frames.generation();
    const auto done = now.result->work(steady::now() + long_slice);
    if (cancelled) return;
    const bool ended = !done || *done;
    const bool publishes = ended || (now.fresh && steady::now() - now.published >= long_interval);
    bool provisional = false;
    result<any_value> known = !done ? tl::unexpected(done.error()) : fail(error_code::cancelled, "not requested");
    if (publishes && done) known = now.result->any_so_far(provisional);
    if (publishes) now.published = steady::now();
    {
      const std::scoped_lock lock(mutex);
      const bool still_wanted = same(wanted, now.query);
      progress = now.result->progress();
      if (still_wanted && publishes)
        publish(std::move(known),
                {now.query, now.from.generation, ended && !provisional, ended && !now.from.trace->growing(), false,
                 provisional, names, steady::now(), shown.took});
      running = !ended || !still_wanted;
      // While functions have no names yet, `going_on` is kept, because the same result is published again with names.
      if (ended && !provisional) going_on.reset();
      if (running) queue();
    }
    finish_task(publishes);
  }

  /// Replaces the shown result; a failure keeps the last value. The caller holds `mutex`.
  void publish(result<any_value>&& found, shown_query about) {
    failure = found ? std::nullopt : std::optional(found.error());
    if (found) value = std::move(*found);
    shown = std::move(about);
  }

  void finish_task(bool wakes) {
    if (origin.frames.wants_work())
      origin.pool.add(engine::state::long_tasks, [&target = origin] { target.find_symbols(); });
    if (wakes) origin.wake();
  }

  /// Shows a coarse drawing, which is better than the previous query's result until more is read. `by_reader`: called
  /// by the task that reads.
  void show(const engine::state::view& now, const query_pointer& query, any_value&& drawn, summary::bin_detail coarse,
            bool by_reader) {
    {
      const std::scoped_lock lock(mutex);
      const bool still_wanted = same(wanted, query);
      // A coarse drawing must not replace an exact drawing of a growing recording.
      const bool drawn_before = now.trace->growing() && shown.complete && same(shown.query, query);
      if ((still_wanted || !by_reader) && !drawn_before)
        publish(std::move(drawn),
                {query, now.generation, false, false, false, shown.provisional, shown.symbols, shown.when, shown.took});
      if (still_wanted || !by_reader) detail = coarse;
      if (!by_reader) running = !still_wanted;
      if (!by_reader && running) queue();
      if (by_reader || !reading) read();
    }
    origin.wake();
  }

  /// Queues tasks that complete the result that was shown from memory. The next query can be answered meanwhile. The
  /// caller holds `mutex`.
  void read() {
    reading = true;
    origin.pool.add(engine::state::long_tasks, [self = shared_from_this()] { self->read_next(); });
  }

  /// Reads the tiles first. Thus the tiles of all tracks are shown before sections, which take longer, are read.
  void read_next() {
    const query_pointer query = get_wanted();
    const engine::state::view now = origin.seen();
    auto coarse = summary::bin_detail::exact;
    std::optional<result<any_value>> drawn;
    if (lacks_tiles()) drawn = draw(now, *query, drawn_from::tiles, coarse);
    if (coarse != summary::bin_detail::exact && drawn) return show(now, query, std::move(**drawn), coarse, true);
    work_out(now, query, std::move(drawn), true);
  }

  bool lacks_tiles() {
    const std::scoped_lock lock(mutex);
    return detail == summary::bin_detail::of_kept_tiles;
  }

  /// Computes the complete result. `by_file`: the result from the file's own data, if known.
  void work_out(const engine::state::view& now, const query_pointer& query, std::optional<result<any_value>> by_file,
                bool by_reader) {
    if (cancelled) return;
    shown_query about{query, now.generation};
    about.symbols = origin.frames.generation();
    result<any_value> found = fail(error_code::cancelled, "the query was cancelled");
    const auto begin = steady::now();
    if (!by_file && now.stored) by_file = find_result(*query, origin.by_file(now, cancelled, later, about.provisional));
    if (!by_file && takes_long(now, query)) return go_on();
    if (by_file) {
      found = std::move(*by_file);
      about.complete = true;
      about.stored = !now.trace->growing();
    } else {
      if (now.stored) origin.want_index();
      const std::shared_lock lock(origin.index_mutex);
      // If the index was replaced meanwhile, the result belongs to an older generation.
      if (origin.seen().index == now.index) {
        about.complete = origin.complete;
        about.generation = origin.generation;
      }
      if (now.index->tensors_are_old()) static_cast<void>(now.index->tensors(*now.trace));
      found = query->compute(origin.by_index(now, cancelled, later, about.provisional), get_shown(query));
      about.old = now.index->tensors_are_old();
    }
    if (cancelled) return;
    {
      const std::scoped_lock lock(mutex);
      const bool still_wanted = same(wanted, query);
      if (still_wanted || !by_reader) {
        about.complete = about.complete && !about.provisional && !about.old;
        about.when = steady::now();
        about.took = about.when - begin;
        publish(std::move(found), std::move(about));
      }
      if (!by_reader) {
        running = !still_wanted;
        if (running) queue();
      } else {
        reading = false;
        // Meanwhile, the wanted query may have been shown from memory. Then its data must still be read; otherwise its
        // task is already queued.
        if (!still_wanted && same(shown.query, wanted) && !shown.complete) read();
      }
    }
    finish_task(true);
  }

  /// Returns the shown result if it is one of `query`, otherwise null.
  any_value get_shown(const query_pointer& query) {
    const std::scoped_lock lock(mutex);
    return same(shown.query, query) ? value : nullptr;
  }

  query_result<void> ask(const query_pointer& query) {
    const std::scoped_lock lock(mutex);
    const bool asked_before = same(shown.query, query);
    const bool unnamed = shown.provisional && shown.symbols != origin.frames.generation();
    const bool up_to_date = shown.stored || shown.generation == origin.generation.load();
    const bool newest = asked_before && up_to_date && !unnamed && !shown.old;
    const int share = origin.summed_up_live ? live_share : refresh_share;
    const auto pause = std::max<steady::duration>(refresh_interval, shown.took * share);
    const bool may_wait = !origin.complete || origin.summed_up_live || (shown.old && up_to_date && !unnamed);
    const bool soon_enough = asked_before && may_wait && steady::now() - shown.when < pause;
    if (!newest && !soon_enough) {
      wanted = query;
      if (!running) {
        running = true;
        queue();
      }
    }
    const bool complete = newest && shown.complete;
    // A query that takes long does not wait for the index.
    const float done = going_on ? progress : origin.progress.load();
    return {value, complete, complete ? 1.0F : done, asked_before ? failure : std::nullopt};
  }
};

any_slot::any_slot() = default;
any_slot::~any_slot() {
  if (current_) current_->cancelled = true;
}
any_slot::any_slot(any_slot&&) noexcept = default;
any_slot& any_slot::operator=(any_slot&& other) noexcept {
  if (current_ && current_ != other.current_) current_->cancelled = true;
  current_ = std::move(other.current_);
  serial_ = other.serial_;
  return *this;
}

query_result<void> any_slot::ask(engine& source, const std::shared_ptr<const asked_query>& query) {
  if (!current_ || serial_ != source.state_->serial) {
    if (current_) current_->cancelled = true;
    current_ = std::make_shared<cell>(*source.state_);
    serial_ = source.state_->serial;
  }
  return current_->ask(query);
}

}  // namespace sluice::query
