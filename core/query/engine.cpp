#include "core/query/engine.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <shared_mutex>

#include "core/query/answering.hpp"
#include "core/query/stored.hpp"
#include "core/query/task_pool.hpp"

namespace sluice::query {
namespace {

using steady = std::chrono::steady_clock;

/// While the index is being built, an answer is worked out again at most this often, and the caller's loop woken.
constexpr auto refresh_interval = std::chrono::milliseconds(250);
/// Nor does it take more than this part of the time: dear questions would starve the building that they wait for.
constexpr int refresh_share = 100;
/// A building task makes room for questions after this long.
constexpr auto building_slice = std::chrono::milliseconds(10);
/// So does an answer that takes long, which says this often what it knows.
constexpr auto long_slice = std::chrono::milliseconds(20);
constexpr auto long_interval = std::chrono::milliseconds(200);

std::atomic<std::uint64_t> next_serial{1};

}  // namespace

struct engine::state {
  state(std::shared_ptr<trace::file> f, engine_options o)
      : opened(std::move(f)),
        options(std::move(o)),
        target(opened->latest()),
        frames({options.symbols, target->realtime_origin(), true}),
        pool(options.threads) {}

  const std::uint64_t serial = next_serial.fetch_add(1);
  const std::shared_ptr<trace::file> opened;
  const engine_options options;

  std::mutex mutex;  ///< Guards what follows; never held while reading a file or computing.
  std::condition_variable changed;
  std::shared_ptr<const trace::snapshot> target;    ///< What answers are about.
  std::shared_ptr<const stored_answers> summaries;  ///< What its file says of itself; null if nothing.
  bool loaded = false;                              ///< It is known whether it does.
  bool built = false;                               ///< The index covers `target`.
  bool building = false;                            ///< A task works on it.

  const analysis::index nothing;  ///< For answers that need none.
  std::shared_mutex index_mutex;
  analysis::index index;
  std::atomic<std::uint64_t> generation{0};  ///< Changes when answers may.
  std::atomic<float> progress{0};
  std::atomic<bool> complete{false};  ///< Answers are final: the index is built, or nobody has needed it so far.
  std::atomic<bool> refreshing{false};
  steady::time_point woken = steady::now();  ///< By the building task.

  symbols::frame_book frames;

  task_pool pool;  ///< Last: its threads use all of the above and end first.

  void wake() const {
    if (options.wake) options.wake();
  }

  /// Looks for what the file says of itself. Only where that is nothing the index is built before anybody needs it.
  void load() {
    std::shared_ptr<const stored_answers> found = load_stored(current(), options.memory_bytes);
    {
      const std::scoped_lock lock(mutex);
      summaries = std::move(found);
      loaded = true;
      if (summaries) {
        complete = true;
        progress = 1;
        generation.fetch_add(1);
      } else {
        start_building();
      }
      changed.notify_all();
    }
    wake();
  }

  /// What the file says of itself; null while that is not known.
  std::shared_ptr<const stored_answers> stored() {
    const std::scoped_lock lock(mutex);
    return summaries;
  }

  /// A question came that the file does not answer by itself.
  void want_index() {
    const std::scoped_lock lock(mutex);
    if (loaded && !built) start_building();
  }

  /// The caller holds `mutex`.
  void start_building() {
    built = false;
    complete = false;
    if (building) return;
    building = true;
    pool.add([this] { build(); });
  }

  /// Takes in chunks for a while, then queues itself again.
  void build() {
    std::shared_ptr<const trace::snapshot> until;
    {
      const std::scoped_lock lock(mutex);
      until = target;
    }
    const auto stop = steady::now() + building_slice;
    bool all = false;
    do {
      const std::unique_lock lock(index_mutex);
      all = index.absorb(*until, 1);
      generation.fetch_add(1);
    } while (!all && steady::now() < stop);
    progress = index.progress(*until);  // Only this task changes the index.
    bool finished = false;
    {
      const std::scoped_lock lock(mutex);
      if (all && target == until) {
        building = false;
        built = true;
        complete = true;
        generation.fetch_add(1);
        finished = true;
        changed.notify_all();
      }
    }
    if (!finished) pool.add([this] { build(); });
    if (finished || steady::now() - woken >= refresh_interval) {
      woken = steady::now();
      wake();
    }
  }

  /// Names native functions for a while, then queues itself again.
  void find_symbols() {
    const bool more = frames.work(steady::now() + refresh_interval);
    if (more) pool.add([this] { find_symbols(); });
    wake();
  }

  /// Below its tiles a zoom shows what must be read first.
  void read_ahead_of(time_range seen) {
    const auto from = stored();
    if (from && from->ahead && from->ahead->look(seen)) pool.add([this, ahead = from->ahead] { read_on(ahead); });
  }

  /// Reads one part, then queues itself again.
  void read_on(const std::shared_ptr<read_ahead>& ahead) {
    if (ahead->work()) pool.add([this, ahead] { read_on(ahead); });
  }

  void look_for_more() {
    refreshing = false;
    const auto found = opened->refresh();
    if (!found || !*found) return;  // A file that vanished stays as it was last seen.
    const std::scoped_lock lock(mutex);
    target = opened->latest();
    if (loaded) start_building();
  }

  std::shared_ptr<const trace::snapshot> current() {
    const std::scoped_lock lock(mutex);
    return target;
  }
};

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

bool engine::busy() const { return state_->pool.busy(); }

template <class Question>
result<std::shared_ptr<const typename Question::answer_type>> engine::ask_now(const Question& question) {
  using value_type = typename Question::answer_type;
  const auto shared = [](result<value_type>&& found) -> result<std::shared_ptr<const value_type>> {
    if (!found) return tl::unexpected<error>(found.error());
    return std::make_shared<const value_type>(std::move(*found));
  };
  const std::atomic<bool> never{false};
  bool provisional = false;
  {
    std::unique_lock lock(state_->mutex);
    state_->changed.wait(lock, [this] { return state_->loaded; });
  }
  {
    const auto stored = state_->stored();
    const auto now = state_->current();
    const sources by{state_->nothing, *now,    never,      state_->frames, symbols::frame_book::patience::at_once,
                     stored.get(),    nullptr, provisional};
    if constexpr (draws<Question> && requires { question.range; }) state_->read_ahead_of(question.range);
    auto found = stored ? answer_stored(question, by) : std::nullopt;
    if (found) return shared(std::move(*found));
    if (const auto answer = start_long_answer(question, by)) {
      const auto done = answer->work(steady::time_point::max(), never);
      return done ? shared(answer->so_far(provisional)) : tl::unexpected<error>(done.error());
    }
  }
  state_->want_index();
  std::shared_ptr<const trace::snapshot> now;
  {
    std::unique_lock lock(state_->mutex);
    state_->changed.wait(lock, [this] { return state_->built; });
    now = state_->target;
  }
  const std::shared_lock lock(state_->index_mutex);
  return shared(answer_to(question, sources{state_->index, *now, never, state_->frames,
                                            symbols::frame_book::patience::at_once, nullptr, nullptr, provisional}));
}

/// What a slot and its task share. The task may outlive the slot.
template <class Question>
struct slot<Question>::state {
  using value_type = typename Question::answer_type;
  /// An answer that takes long, and goes on in one task after another.
  struct work {
    const Question question;
    const std::shared_ptr<const trace::snapshot> trace;
    const std::shared_ptr<const stored_answers> stored;
    const std::uint64_t generation;
    bool fresh = false;  ///< Nothing is shown yet of what was asked: a part of the answer is better.
    std::unique_ptr<long_answer<value_type>> answer{};  ///< Refers to the others.
    steady::time_point told{};
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
    if (at->going_on && at->going_on->question == question) return go_on(from, at);
    std::optional<result<value_type>> at_hand;
    if constexpr (draws<Question>) {
      auto detail = analysis::bin_detail::exact;
      at_hand = draw(from, at, question, drawn_from::memory, detail);
      if constexpr (requires { question.range; }) from.read_ahead_of(question.range);
      if (detail != analysis::bin_detail::exact && at_hand)
        return show(from, at, question, std::move(**at_hand), detail, false);
    }
    work_out(from, at, question, std::move(at_hand), false);
  }

  /// Draws from what the file says of itself, reading no more than `reads`. Nothing if it says nothing, or failed and more is to be read.
  static std::optional<result<value_type>> draw(engine::state& from, const std::shared_ptr<cell>& at,
                                                const Question& question, drawn_from reads,
                                                analysis::bin_detail& detail) {
    const auto summaries = from.stored();
    if (!summaries) return std::nullopt;
    const auto now = from.current();
    bool provisional = false;
    auto drawn = answer_stored(
        question, sources{from.nothing, *now, at->cancelled, from.frames, symbols::frame_book::patience::later,
                          summaries.get(), &detail, provisional, reads});
    if (detail != analysis::bin_detail::exact && drawn && !*drawn) drawn.reset();
    return drawn;
  }

  static Question wanted_of(const std::shared_ptr<cell>& at) {
    const std::scoped_lock lock(at->mutex);
    return at->wanted;
  }

  /// Whether the question is to be answered in one task after another; if so, `going_on` is about it.
  static bool takes_long(engine::state& from, const std::shared_ptr<cell>& at, const Question& question) {
    auto begun = std::unique_ptr<work>(new work{question, from.current(), from.stored(), from.generation});
    begun->answer = start_long_answer(
        question, sources{from.nothing, *begun->trace, at->cancelled, from.frames, symbols::frame_book::patience::later,
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
    const bool tells = ended || (now.fresh && steady::now() - now.told >= long_interval);
    bool provisional = false;
    result<value_type> known = !done ? tl::unexpected(done.error()) : fail(error_code::cancelled, "not asked for");
    if (tells && done) known = now.answer->so_far(provisional);
    if (tells) now.told = steady::now();
    {
      const std::scoped_lock lock(at->mutex);
      const bool still_wanted = at->wanted == now.question;
      at->progress = now.answer->progress();
      if (still_wanted && tells) {
        at->failure = known ? std::nullopt : std::optional(known.error());
        if (known) at->value = std::make_shared<const value_type>(std::move(*known));
        at->answered = now.question;
        at->generation = now.generation;
        at->complete = ended && !provisional;
        at->stored = ended && !now.trace->growing();
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
    if (tells) from.wake();
  }

  /// What is at hand of a zoom is better, until more is read, than what was asked before. `reading`: by the task that reads.
  static void show(engine::state& from, const std::shared_ptr<cell>& at, const Question& question, value_type&& drawn,
                   analysis::bin_detail detail, bool reading) {
    {
      const std::scoped_lock lock(at->mutex);
      const bool still_wanted = at->wanted == question;
      if (still_wanted || !reading) {
        at->value = std::make_shared<const value_type>(std::move(drawn));
        at->failure.reset();
        at->answered = question;
        at->generation = from.generation;
        at->complete = false;
        at->stored = false;
        at->detail = detail;
      }
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

  /// Tiles first: those of all tracks are shown before the epochs below them, which take longer, are read.
  static void read_next(engine::state& from, const std::shared_ptr<cell>& at) {
    const Question question = wanted_of(at);
    std::optional<result<value_type>> drawn;
    if constexpr (draws<Question>) {
      auto detail = analysis::bin_detail::exact;
      if (lacks_tiles(at)) drawn = draw(from, at, question, drawn_from::tiles, detail);
      if (detail != analysis::bin_detail::exact && drawn)
        return show(from, at, question, std::move(**drawn), detail, true);
    }
    work_out(from, at, question, std::move(drawn), true);
  }

  static bool lacks_tiles(const std::shared_ptr<cell>& at) {
    const std::scoped_lock lock(at->mutex);
    return at->detail == analysis::bin_detail::of_kept_tiles;
  }

  /// `by_file`: the answer of a file that sums itself up, if that is known.
  static void work_out(engine::state& from, const std::shared_ptr<cell>& at, const Question& question,
                       std::optional<result<value_type>> by_file, bool reading) {
    if (at->cancelled) return;
    const auto now = from.current();
    std::uint64_t generation = 0;
    bool complete = false;
    bool provisional = false;
    const std::uint64_t names = from.frames.generation();
    result<value_type> found = fail(error_code::cancelled, "the question was withdrawn");
    const auto begin = steady::now();
    const auto summaries = from.stored();
    if (by_file) {
      generation = from.generation;
    } else if (summaries) {
      generation = from.generation;
      by_file =
          answer_stored(question, sources{from.nothing, *now, at->cancelled, from.frames,
                                          symbols::frame_book::patience::later, summaries.get(), nullptr, provisional});
    }
    if (!by_file) {
      if constexpr (!draws<Question>) {
        if (takes_long(from, at, question)) return go_on(from, at);
      }
      if (summaries) from.want_index();
    }
    const bool stored = by_file.has_value() && !now->growing();
    if (by_file) {
      found = std::move(*by_file);
      complete = true;
    } else {
      const std::shared_lock lock(from.index_mutex);
      complete = from.complete;
      generation = from.generation;
      found = answer_to(question, sources{from.index, *now, at->cancelled, from.frames,
                                          symbols::frame_book::patience::later, nullptr, nullptr, provisional});
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
        at->complete = complete && !provisional;
        at->stored = stored;
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
    }
    cell& at = *current;
    const std::scoped_lock lock(at.mutex);
    const bool same = at.answered && *at.answered == question;
    const bool unnamed = at.provisional && at.symbols != from.frames.generation();
    const bool newest = same && (at.stored || at.generation == from.generation.load()) && !unnamed;
    const auto pause = std::max<steady::duration>(refresh_interval, at.took * refresh_share);
    const bool soon_enough = same && !from.complete && steady::now() - at.when < pause;
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
