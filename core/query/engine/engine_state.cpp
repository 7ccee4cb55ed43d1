#include "core/query/engine/engine_state.hpp"

#include <algorithm>
#include <thread>
#include <vector>

#include "core/index/growing_index.hpp"
#include "core/query/engine/asked_query.hpp"
#include "core/summary/passes/finalize.hpp"

namespace sluice::query {
namespace {

/// A task that builds the index lets queries run after this time.
constexpr auto building_slice = std::chrono::milliseconds(10);

std::atomic<std::uint64_t> next_serial{1};

/// One thread runs only tasks of the queue `quick`. It is not the first, so that if the system allows only one thread,
/// that thread runs all tasks.
std::vector<thread_pool::served_queues> assign_queues(unsigned threads, std::size_t quick, std::size_t last) {
  if (threads == 0) threads = std::max(2U, std::thread::hardware_concurrency()) - 1;
  std::vector<thread_pool::served_queues> assigned(threads + 1, {quick, last});
  assigned[1] = {quick, quick};
  return assigned;
}

}  // namespace

engine::state::state(std::shared_ptr<trace::file> f, engine_options o)
    : serial(next_serial.fetch_add(1)),
      options(std::move(o)),
      opened(std::move(f)),
      target(opened->latest()),
      frames(symbols::options_for(*target)),
      pool(assign_queues(options.threads, quick_tasks, long_tasks)),
      sums(options.memory_bytes, options.live_settles_after,
           [this](live_summarizer::outcome output) { take(std::move(output)); }) {}

engine::state::view engine::state::seen() {
  const std::scoped_lock lock(mutex);
  return {target, summaries, index, generation};
}

void engine::state::load() {
  std::shared_ptr<const stored_sources> found = open_stored_sources(current(), options.memory_bytes);
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
    if (unseen) follow(std::exchange(unseen, nullptr));
    changed.notify_all();
  }
  wake();
}

void engine::state::want_index() {
  const std::scoped_lock lock(mutex);
  if (loaded && !built) start_building();
}

void engine::state::start_building() {
  index_wanted = true;
  built = false;
  complete = false;
  if (building) return;
  building = true;
  pool.add(long_tasks, [this] { build(); });
}

void engine::state::build() {
  view now;
  {
    const std::scoped_lock lock(mutex);
    building = index_wanted;
    if (!building) return;
    now = {target, nullptr, index, 0};
  }
  const auto stop = steady::now() + building_slice;
  bool everything = false;
  do {
    const std::unique_lock lock(index_mutex);
    everything = now.index->absorb(*now.trace, 1);
    generation.fetch_add(1);
  } while (!everything && steady::now() < stop);
  const float share = now.index->progress(*now.trace);  // Only this task changes the index.
  bool finished = false;
  {
    const std::scoped_lock lock(mutex);
    if (index_wanted) progress = share;
    if (everything && index_wanted && target == now.trace && index == now.index) {
      building = false;
      built = true;
      complete = true;
      generation.fetch_add(1);
      finished = true;
      changed.notify_all();
    }
  }
  if (!finished) pool.add(long_tasks, [this] { build(); });
  if (finished || steady::now() - woken >= refresh_interval) {
    woken = steady::now();
    wake();
  }
}

void engine::state::poll() {
  refreshing = false;
  std::shared_ptr<trace::file> origin;
  {
    const std::scoped_lock lock(mutex);
    origin = opened;
  }
  const auto found = origin->refresh();
  if (!found) return;  // If the file vanished, keep its last state.
  // The successor is checked last, because a writer creates it before it ends the old file.
  const auto successor = origin->successor();
  const bool replaced = successor && *successor != nullptr;
  if (!replaced && !*found) return;
  const std::scoped_lock lock(mutex);
  if (opened != origin) return;  // Another task has replaced the file already.
  if (replaced) opened = *successor;
  if (loaded) {
    follow(opened->latest());
  } else {
    unseen = opened->latest();
  }
}

void engine::state::follow(std::shared_ptr<const trace::snapshot> newest) {
  const bool elsewhere = !newest->is_of_the_file_of(*target);
  if (elsewhere || (can_be_summed_up && summary::exceeds_memory(*newest, options.memory_bytes)))
    return sums.update(std::move(newest));
  target = std::move(newest);
  start_building();
}

void engine::state::take(live_summarizer::outcome output) {
  {
    const std::scoped_lock lock(mutex);
    const bool held_all = !summaries;
    const bool elsewhere = !output.trace->is_of_the_file_of(*target);
    target = std::move(output.trace);
    summaries = std::move(output.results);
    summed_up_live = summaries && target->growing();
    // The old index is freed when its last reader is done. An index that a query required although there are summaries
    // is kept, and extended when the next query requires it, unless it belongs to another file.
    if (elsewhere || (summaries && held_all)) {
      index = std::make_shared<index::growing_index>();
      index_wanted = false;
    }
    if (summaries) {
      built = false;
      complete = true;
      progress = 1;
      generation.fetch_add(1);
    } else {
      can_be_summed_up = !summary::exceeds_memory(*target, options.memory_bytes);
      start_building();
    }
    changed.notify_all();
  }
  wake();
}

void engine::state::find_symbols() {
  const bool more = frames.work(steady::now() + refresh_interval);
  if (more) pool.add(long_tasks, [this] { find_symbols(); });
  wake();
}

void engine::state::read_ahead_of(const asked_query& query) {
  const auto view = query.view();
  const auto origin = view ? seen().stored : nullptr;
  if (origin && origin->ahead && origin->ahead->prefetch(view->first, view->second))
    pool.add(long_tasks, [this, ahead = origin->ahead] { read_on(ahead); });
}

void engine::state::read_on(const std::shared_ptr<prefetcher>& ahead) {
  if (ahead->work()) pool.add(long_tasks, [this, ahead] { read_on(ahead); });
}

}  // namespace sluice::query
