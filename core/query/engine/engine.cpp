#include "core/query/engine/engine.hpp"

#include <algorithm>
#include <chrono>

#include "core/base/cancel.hpp"
#include "core/query/answers/panels/long_panels.hpp"
#include "core/query/engine/asked_elsewhere.hpp"
#include "core/query/engine/engine_state.hpp"
#include "core/query/engine/find_answer.hpp"

namespace sluice::query {
namespace {

using steady = std::chrono::steady_clock;

/// Answers that are worked out again do not take more than this part of the time: dear questions would starve the building that they wait for.
constexpr int refresh_share = 100;
/// The same of a recording that grows and is summed up: nothing waits for them but other answers.
constexpr int live_share = 4;
/// An answer that takes long makes room for other questions after this long, and says this often what it knows.
constexpr auto long_slice = std::chrono::milliseconds(20);
constexpr auto long_interval = std::chrono::milliseconds(200);

/// A comparison needs its two sides alone.
template <class Question>
constexpr bool needs_recording = !std::is_same_v<Question, comparison_question>;

}  // namespace

engine::engine(std::shared_ptr<trace::file> file, engine_options options)
    : state_(std::make_shared<state>(std::move(file), std::move(options))) {
  state_->pool.add([s = state_.get()] { s->load(); });
}

engine::~engine() { state_->pool.stop(); }

std::shared_ptr<const trace::snapshot> engine::snapshot() const { return state_->current(); }

void engine::refresh() {
  if (state_->refreshing.exchange(true)) return;
  state_->pool.add([s = state_.get()] { s->look_for_more(); });
}

void engine::work_here(std::chrono::steady_clock::time_point until) { state_->pool.work_here(until); }

bool engine::busy() const {
  const auto& elsewhere = state_->options.elsewhere;
  return state_->pool.busy() || state_->sums.busy() || (elsewhere && elsewhere->busy());
}

template <class Question>
result<std::shared_ptr<const typename Question::answer_type>> engine::ask_now(const Question& question) {
  using value_type = typename Question::answer_type;
  if constexpr (needs_recording<Question>)
    if (const auto& elsewhere = state_->options.elsewhere) return ask_elsewhere_now(*elsewhere, question);
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
        state_->nothing,  *now.trace, never_cancelled, state_->frames, symbols::frame_book::lookup::at_once,
        now.stored.get(), nullptr,    provisional};
    if constexpr (draws<Question> && requires { question.range; })
      state_->read_ahead_of(question.range, question.width);
    auto found = now.stored ? find_answer(question, by) : std::nullopt;
    if (found) return shared(std::move(*found));
    if (const auto answer = start_long_answer(question, by)) {
      const auto done = answer->work(steady::time_point::max(), never_cancelled);
      return done ? shared(answer->so_far(provisional)) : tl::unexpected<error>(done.error());
    }
    state_->want_index();
    std::unique_lock lock(state_->mutex);
    // Meanwhile a recording that is written may have been summed up.
    state_->changed.wait(lock, [&] { return state_->built || state_->summaries != now.stored; });
    built = state_->built;
    now.trace = state_->target;
    now.index = state_->index;
  }
  const std::shared_lock lock(state_->index_mutex);
  return shared(answer_to(question, sources{*now.index, *now.trace, never_cancelled, state_->frames,
                                            symbols::frame_book::lookup::at_once, nullptr, nullptr, provisional}));
}

/// What a slot and its task share. The task may outlive the slot.
template <class Question>
struct slot<Question>::state {
  using value_type = typename Question::answer_type;
  /// An answer that takes long, and goes on in one task after another.
  struct work {
    const Question question;
    const std::shared_ptr<const trace::snapshot> trace;
    const std::shared_ptr<const stored_sources> stored;
    const std::uint64_t generation;
    bool fresh = false;  ///< Nothing is shown yet of what was asked: a part of the answer is better.
    std::unique_ptr<long_answer<value_type>> answer{};  ///< Refers to the others.
    steady::time_point published{};
    bool never_provisional = false;
  };
  struct cell {
    std::mutex mutex;  ///< Held for moments only.
    std::atomic<bool> cancelled{false};
    Question wanted;
    bool running = false;  ///< A task is queued or computes,
    bool reading = false;  ///< and one that reads what the first one had not at hand.
    std::shared_ptr<const value_type> value;
    std::optional<error> failure;
    std::optional<Question> answered;
    std::uint64_t generation = 0;   ///< Of the index when it was answered.
    bool complete = false;          ///< The index was complete then, or was not needed.
    bool stored = false;            ///< It was not: nothing that the index takes in changes the answer.
    bool old = false;               ///< Steps and categories were a little older than the rest: to be asked again.
    analysis::bin_detail detail{};  ///< Of what was drawn from memory.
    bool provisional = false;       ///< Native functions were still to be named,
    std::uint64_t symbols = 0;      ///< and this many lots of names had been found.
    steady::time_point when;
    steady::duration took{};         ///< To work it out.
    float progress = 0;              ///< Of what takes long.
    std::unique_ptr<work> going_on;  ///< Belongs to the task.
  };
  std::shared_ptr<cell> current = std::make_shared<cell>();
  std::uint64_t serial = 0;  ///< Of the engine that `current` asks.
  std::optional<asked_elsewhere<Question>> elsewhere;

  ~state() { current->cancelled = true; }

  /// What is drawn has a first answer without anything to be read.
  static void queue(engine::state& from, const std::shared_ptr<cell>& at) {
    if constexpr (draws<Question>)
      from.pool.add_quick([&from, at] { run(from, at); });
    else
      from.pool.add([&from, at] { run(from, at); });
  }

  static void run(engine::state& from, const std::shared_ptr<cell>& at) {
    const Question question = wanted_of(at);
    if (at->cancelled) return;
    const engine::state::view now = from.seen();
    const work* begun = at->going_on.get();
    // A recording that grows has other sums before a long answer is there: that is given first.
    const bool same_sums = begun != nullptr && (begun->stored == now.stored || from.summed_up_live);
    if (begun != nullptr && begun->question == question && same_sums) return go_on(from, at);
    std::optional<result<value_type>> at_hand;
    if constexpr (draws<Question>) {
      auto detail = analysis::bin_detail::exact;
      at_hand = draw(from, now, at, question, drawn_from::memory, detail);
      if constexpr (requires { question.range; }) from.read_ahead_of(question.range, question.width);
      if (detail != analysis::bin_detail::exact && at_hand)
        return show(from, now, at, question, std::move(**at_hand), detail, false);
    }
    work_out(from, now, at, question, std::move(at_hand), false);
  }

  /// Draws from what the file says of itself, reading no more than `reads`. Nothing if it says nothing, or failed and more is to be read.
  static std::optional<result<value_type>> draw(engine::state& from, const engine::state::view& now,
                                                const std::shared_ptr<cell>& at, const Question& question,
                                                drawn_from reads, analysis::bin_detail& detail) {
    if (!now.stored) return std::nullopt;
    bool provisional = false;
    auto drawn = find_answer(
        question, sources{from.nothing, *now.trace, at->cancelled, from.frames, symbols::frame_book::lookup::later,
                          now.stored.get(), &detail, provisional, reads});
    if (detail != analysis::bin_detail::exact && drawn && !*drawn) drawn.reset();
    return drawn;
  }

  static Question wanted_of(const std::shared_ptr<cell>& at) {
    const std::scoped_lock lock(at->mutex);
    return at->wanted;
  }

  /// What was last answered to the same question.
  static std::shared_ptr<const value_type> answered_before(const std::shared_ptr<cell>& at, const Question& question) {
    const std::scoped_lock lock(at->mutex);
    return at->answered && *at->answered == question ? at->value : nullptr;
  }

  /// Whether the question is to be answered in one task after another; if so, `going_on` is about it.
  static bool takes_long(engine::state& from, const engine::state::view& now, const std::shared_ptr<cell>& at,
                         const Question& question) {
    auto begun = std::unique_ptr<work>(new work{question, now.trace, now.stored, now.generation});
    begun->answer = start_long_answer(
        question, sources{from.nothing, *begun->trace, at->cancelled, from.frames, symbols::frame_book::lookup::later,
                          begun->stored.get(), nullptr, begun->never_provisional});
    const std::scoped_lock lock(at->mutex);
    begun->fresh = !at->answered || !(*at->answered == question);
    at->going_on = begun->answer ? std::move(begun) : nullptr;
    return at->going_on != nullptr;
  }

  /// Works for a while, then queues itself again: what is known is shown, and other questions have their turn.
  static void go_on(engine::state& from, const std::shared_ptr<cell>& at) {
    work& now = *at->going_on;
    const std::uint64_t names = from.frames.generation();
    const auto done = now.answer->work(steady::now() + long_slice, at->cancelled);
    if (at->cancelled) return;
    const bool ended = !done || *done;
    const bool publishes = ended || (now.fresh && steady::now() - now.published >= long_interval);
    bool provisional = false;
    result<value_type> known = !done ? tl::unexpected(done.error()) : fail(error_code::cancelled, "not asked for");
    if (publishes && done) known = now.answer->so_far(provisional);
    if (publishes) now.published = steady::now();
    {
      const std::scoped_lock lock(at->mutex);
      const bool still_wanted = at->wanted == now.question;
      at->progress = now.answer->progress();
      if (still_wanted && publishes) {
        at->failure = known ? std::nullopt : std::optional(known.error());
        if (known) at->value = std::make_shared<const value_type>(std::move(*known));
        at->answered = now.question;
        at->generation = now.generation;
        at->complete = ended && !provisional;
        at->stored = ended && !now.trace->growing();
        at->old = false;
        at->provisional = provisional;
        at->symbols = names;
        at->when = steady::now();
      }
      at->running = !ended || !still_wanted;
      // Kept while functions are still to be named: then only what is known is told again.
      if (ended && !provisional) at->going_on.reset();
      if (at->running) queue(from, at);
    }
    if (from.frames.wants_work()) from.pool.add([&from] { from.find_symbols(); });
    if (publishes) from.wake();
  }

  /// What is at hand of a zoom is better, until more is read, than what was asked before. `reading`: by the task that reads.
  static void show(engine::state& from, const engine::state::view& now, const std::shared_ptr<cell>& at,
                   const Question& question, value_type&& drawn, analysis::bin_detail detail, bool reading) {
    {
      const std::scoped_lock lock(at->mutex);
      const bool still_wanted = at->wanted == question;
      // As drawn exactly a moment ago, a growing recording is not drawn coarsely meanwhile.
      const bool drawn_before = now.trace->growing() && at->complete && at->answered && *at->answered == question;
      if ((still_wanted || !reading) && !drawn_before) {
        at->value = std::make_shared<const value_type>(std::move(drawn));
        at->failure.reset();
        at->answered = question;
        at->generation = now.generation;
        at->complete = false;
        at->stored = at->old = false;
      }
      if (still_wanted || !reading) at->detail = detail;
      if (!reading) at->running = !still_wanted;
      if (!reading && at->running) queue(from, at);
      if (reading || !at->reading) read(from, at);
    }
    from.wake();
  }

  /// Answers in tasks of their own what was shown from what was at hand; meanwhile the next question can be. With the cell's mutex held.
  static void read(engine::state& from, const std::shared_ptr<cell>& at) {
    at->reading = true;
    from.pool.add([&from, at] { read_next(from, at); });
  }

  /// Tiles first: those of all tracks are shown before the sections below them, which take longer, are read.
  static void read_next(engine::state& from, const std::shared_ptr<cell>& at) {
    const Question question = wanted_of(at);
    const engine::state::view now = from.seen();
    std::optional<result<value_type>> drawn;
    if constexpr (draws<Question>) {
      auto detail = analysis::bin_detail::exact;
      if (lacks_tiles(at)) drawn = draw(from, now, at, question, drawn_from::tiles, detail);
      if (detail != analysis::bin_detail::exact && drawn)
        return show(from, now, at, question, std::move(**drawn), detail, true);
    }
    work_out(from, now, at, question, std::move(drawn), true);
  }

  static bool lacks_tiles(const std::shared_ptr<cell>& at) {
    const std::scoped_lock lock(at->mutex);
    return at->detail == analysis::bin_detail::of_kept_tiles;
  }

  /// `by_file`: the answer of a file that sums itself up, if that is known.
  static void work_out(engine::state& from, const engine::state::view& now, const std::shared_ptr<cell>& at,
                       const Question& question, std::optional<result<value_type>> by_file, bool reading) {
    if (at->cancelled) return;
    std::uint64_t generation = now.generation;
    bool complete = false;
    bool provisional = false;
    const std::uint64_t names = from.frames.generation();
    result<value_type> found = fail(error_code::cancelled, "the question was withdrawn");
    const auto begin = steady::now();
    if (!by_file && now.stored) {
      by_file =
          find_answer(question, sources{from.nothing, *now.trace, at->cancelled, from.frames,
                                        symbols::frame_book::lookup::later, now.stored.get(), nullptr, provisional});
    }
    if (!by_file) {
      if constexpr (!draws<Question>) {
        if (takes_long(from, now, at, question)) return go_on(from, at);
      }
      if (now.stored) from.want_index();
    }
    const bool stored = by_file.has_value() && !now.trace->growing();
    bool old = false;
    if (by_file) {
      found = std::move(*by_file);
      complete = true;
    } else {
      const std::shared_lock lock(from.index_mutex);
      // Once another index is there in its place, the answer is of an older generation.
      if (from.seen().index == now.index) {
        complete = from.complete;
        generation = from.generation;
      }
      const sources all{*now.index, *now.trace, at->cancelled, from.frames, symbols::frame_book::lookup::later,
                        nullptr,    nullptr,    provisional};
      if (now.index->tensors_are_old()) static_cast<void>(now.index->tensors(*now.trace));
      if constexpr (std::is_same_v<Question, step_statistics_question>) {
        found = answer_after(answered_before(at, question).get(), question, all);
      } else {
        found = answer_to(question, all);
      }
      old = now.index->tensors_are_old();
    }
    if (at->cancelled) return;
    {
      const std::scoped_lock lock(at->mutex);
      const bool still_wanted = at->wanted == question;
      if (still_wanted || !reading) {
        if (found) {
          at->value = std::make_shared<const value_type>(std::move(*found));
          at->failure.reset();
        } else {
          at->failure = found.error();
        }
        at->answered = question;
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
        if (at->running) queue(from, at);
      } else {
        at->reading = false;
        // What is wanted now was shown meanwhile, and is still to be read; else its task is on its way.
        if (!still_wanted && at->answered && *at->answered == at->wanted && !at->complete) read(from, at);
      }
    }
    if (from.frames.wants_work()) from.pool.add([&from] { from.find_symbols(); });
    from.wake();
  }

  answer<value_type> ask(engine::state& from, const Question& question) {
    if (serial != from.serial) {
      current->cancelled = true;
      current = std::make_shared<cell>();
      serial = from.serial;
      elsewhere.reset();
      if (needs_recording<Question> && from.options.elsewhere) elsewhere.emplace(from.options.elsewhere);
    }
    if (elsewhere) return elsewhere->ask(question, from.generation.load(), from.options.wake);
    cell& at = *current;
    const std::scoped_lock lock(at.mutex);
    const bool same = at.answered && *at.answered == question;
    const bool unnamed = at.provisional && at.symbols != from.frames.generation();
    const bool up_to_date = at.stored || at.generation == from.generation.load();
    const bool newest = same && up_to_date && !unnamed && !at.old;
    const int share = from.summed_up_live ? live_share : refresh_share;
    const auto pause = std::max<steady::duration>(refresh_interval, at.took * share);
    const bool may_wait = !from.complete || from.summed_up_live || (at.old && up_to_date && !unnamed);
    const bool soon_enough = same && may_wait && steady::now() - at.when < pause;
    if (!newest && !soon_enough) {
      at.wanted = question;
      if (!at.running) {
        at.running = true;
        queue(from, current);
      }
    }
    const bool complete = newest && at.complete;
    // Nobody waits for an index where an answer takes long.
    const float progress = at.going_on ? at.progress : from.progress.load();
    return {at.value, complete, complete ? 1.0F : progress, same ? at.failure : std::nullopt};
  }
};

template <class Question>
slot<Question>::slot() : state_(std::make_unique<state>()) {}
template <class Question>
slot<Question>::~slot() = default;
template <class Question>
slot<Question>::slot(slot&&) noexcept = default;
template <class Question>
slot<Question>& slot<Question>::operator=(slot&&) noexcept = default;

template <class Question>
answer<typename Question::answer_type> slot<Question>::ask(engine& from, const Question& question) {
  return state_->ask(*from.state_, question);
}

#define SLUICE_QUESTION(Q)                                                             \
  template result<std::shared_ptr<const Q::answer_type>> engine::ask_now<Q>(const Q&); \
  template class slot<Q>;
SLUICE_FOR_EACH_QUESTION(SLUICE_QUESTION)
#undef SLUICE_QUESTION

}  // namespace sluice::query
