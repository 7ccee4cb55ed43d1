#include "core/query/engine/live_summarizer.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include "core/base/freed_memory.hpp"
#include "core/base/threads/lower_priority.hpp"
#include "core/summary/passes/finalize.hpp"
#include "core/summary/passes/growing_metrics.hpp"

namespace sluice::query {
namespace {

/// The pause between summaries, in percent of the time that the last summary took. The threads have a low priority and
/// use idle cores, but still consume memory bandwidth and battery.
constexpr int pause = 100;
/// The same on machines with many cores. On smaller machines, the longer pause leaves the cores to the program.
constexpr int pause_of_many = 25;
constexpr unsigned many_cores = 8;
/// A live view is updated at most this often.
constexpr auto min_pause = std::chrono::milliseconds(400);
/// The number of threads that read the file while metrics are built, on machines with many cores. Each thread takes
/// some 20 MB of memory, so the number is small.
constexpr std::size_t readers = 2;
/// The bytes for summarizing, taken from the memory for results.
constexpr std::size_t taken_beside_results = 80'000'000;

std::chrono::steady_clock::duration pause_after(std::chrono::steady_clock::duration work, bool many) {
  return work * (many ? pause_of_many : pause) / 100;
}

}  // namespace

live_summarizer::live_summarizer(std::size_t memory_bytes, trace::time_ns settles_after,
                                 std::function<void(outcome)> take)
    : memory_bytes_(memory_bytes),
      many_cores_(std::thread::hardware_concurrency() >= many_cores),
      take_(std::move(take)),
      how_{.settles_after = settles_after} {}

live_summarizer::~live_summarizer() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
  metrics_thread_.join();
}

void live_summarizer::update(std::shared_ptr<const trace::snapshot> newest) {
  {
    const std::scoped_lock lock(mutex_);
    wanted_ = std::move(newest);
    // Without a thread, the recording is read without summaries, and the next `update` tries again.
    if (!thread_.started() && !thread_.start([this] { work(); })) wanted_ = nullptr;
  }
  changed_.notify_all();
}

bool live_summarizer::busy() const {
  const std::scoped_lock lock(mutex_);
  const bool due = wanted_ && (!wanted_->growing() || steady::now() >= next_);
  const bool metrics_due = unfigured_ && (!wanted_ || steady::now() >= next_metrics_);
  return working_ || building_ || built_ || due || metrics_due;
}

void live_summarizer::work() {
  lower_priority();
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stopping_ || wanted_ || built_; });
    changed_.wait_until(lock, next_, [this] { return stopping_ || built_ || !wanted_->growing(); });
    if (stopping_) return;
    if (auto found = std::exchange(built_, std::nullopt)) {
      const bool of_shown = !shown_ || found->from->snapshot().is_of_the_file_of(shown_->trace());
      if (of_shown) metrics_ = *std::move(found);
    }
    const bool due = wanted_ && (!wanted_->growing() || steady::now() >= next_);
    auto trace = due ? std::exchange(wanted_, nullptr) : nullptr;
    working_ = true;
    lock.unlock();
    const auto begin = steady::now();
    if (!trace) {
      if (shown_) show(*shown_);
    } else if (trace->growing()) {
      go_on(std::move(trace));
    } else {
      sum_up_all(std::move(trace));
    }
    const auto end = steady::now();
    lock.lock();
    working_ = false;
    if (due) next_ = end + std::max<steady::duration>(pause_after(end - begin, many_cores_), min_pause);
  }
}

void live_summarizer::sum_up_all(std::shared_ptr<const trace::snapshot> ended) {
  sums_.reset();
  shown_.reset();
  results_.reset();
  metrics_ = {};
  {
    const std::scoped_lock lock(mutex_);
    unfigured_.reset();
  }
  const auto up = summary::summed_up(
      std::move(ended),
      {.memory_bytes = memory_bytes_, .several_cores = many_cores_, .cancelled = [this] { return stopping_.load(); }});
  if (up) take_({*up, open_stored_sources(*up, memory_bytes_)});
}

void live_summarizer::go_on(std::shared_ptr<const trace::snapshot> growing) {
  if (!sums_) sums_.emplace(how_);
  auto up = sums_->sum_up(growing, [this] { return !stopping_; });
  if (up && metrics_.from && !growing->is_of_the_file_of(metrics_.from->snapshot())) metrics_ = {};
  if (up && !metrics_.metrics) {
    auto first = first_metrics(*up);
    if (first) {
      metrics_ = *std::move(first);
    } else {
      up = tl::unexpected(first.error());
    }
  }
  if (!up) {
    shown_.reset();
    results_.reset();
    if (up.error().code != error_code::cancelled) take_({summary::not_summed_up(*growing, up.error()), nullptr});
    return;
  }
  shown_ = std::move(*up);
  if (metrics_.from != shown_->sections) {
    const std::scoped_lock lock(mutex_);
    unfigured_ = shown_;
    if (!metrics_thread_.started() && !metrics_thread_.start([this] { work_on_metrics(); })) unfigured_.reset();
  }
  changed_.notify_all();
  show(*shown_);
}

void live_summarizer::show(const summary::growing_summary::outcome& output) {
  const auto with = sums_->with_metrics(output, *metrics_.metrics);
  if (!with) {
    const auto warned = summary::not_summed_up(output.trace(), with.error());
    shown_.reset();
    results_.reset();
    return take_({warned, nullptr});
  }
  const auto results = open_stored_sources(*with, memory_bytes_ - std::min(memory_bytes_, taken_beside_results));
  if (results && results_ && beginning_ == output.beginning) take_over(*results_, settled_, *results);
  const bool first = !std::exchange(results_, results);
  settled_ = output.settled;
  beginning_ = output.beginning;
  take_({*with, results});
  if (first) give_freed_memory_back();  // Until now, an index held the whole recording.
}

summary::stored_metrics_options live_summarizer::how_to_build() const {
  return {.several_cores = false, .readers = many_cores_ ? readers : 1};
}

result<live_summarizer::section_metrics> live_summarizer::first_metrics(
    const summary::growing_summary::outcome& output) const {
  auto found = summary::build_stored_metrics(*output.sections, *output.unsectioned, how_to_build(), {},
                                             [this] { return !stopping_; });
  if (!found) return tl::unexpected(found.error());
  return section_metrics{std::make_shared<const summary::stored_metrics>(std::move(*found)), output.sections};
}

void live_summarizer::work_on_metrics() {
  lower_priority();
  summary::growing_metrics metrics(how_to_build());
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stopping_ || unfigured_; });
    // Wait for the end of the pause only while new data comes.
    changed_.wait_until(lock, next_metrics_, [this] { return stopping_ || (!wanted_ && !working_); });
    if (stopping_) return;
    if (!unfigured_) continue;  // The recording ended meanwhile.
    const auto output = *std::exchange(unfigured_, std::nullopt);
    building_ = true;
    lock.unlock();
    const auto begin = steady::now();
    auto found = metrics.build(output, [this] { return !stopping_; });
    give_freed_memory_back();
    const auto end = steady::now();
    lock.lock();
    building_ = false;
    next_metrics_ = end + pause_after(end - begin, many_cores_);
    if (found) built_ = {std::make_shared<const summary::stored_metrics>(std::move(*found)), output.sections};
    changed_.notify_all();
  }
}

}  // namespace sluice::query
