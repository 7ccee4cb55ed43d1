#include "core/query/engine/live_summarizer.hpp"

#include <utility>

#include "core/base/threads/lower_priority.hpp"
#include "core/summary/passes/finalize.hpp"

namespace sluice::query {
namespace {

/// As long as summing up took, so many times over nothing is summed up. Its thread has a low priority: it takes time that nobody else wants,
/// but wears out memory bandwidth and a battery all the same.
constexpr int pauses = 1;

}  // namespace

live_summarizer::~live_summarizer() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void live_summarizer::look(std::shared_ptr<const trace::snapshot> newest) {
  {
    const std::scoped_lock lock(mutex_);
    wanted_ = std::move(newest);
    // Without a thread the recording is read without sums, and the next look tries again.
    if (!has_threads() || (!thread_.started() && !thread_.start([this] { work(); }))) wanted_ = nullptr;
  }
  changed_.notify_all();
}

bool live_summarizer::busy() const {
  const std::scoped_lock lock(mutex_);
  return working_ || (wanted_ && (!wanted_->growing() || steady::now() >= next_));
}

void live_summarizer::work() {
  lower_priority();
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stopping_ || wanted_; });
    changed_.wait_until(lock, next_, [this] { return stopping_ || !wanted_->growing(); });
    if (stopping_) return;
    auto trace = std::exchange(wanted_, nullptr);
    working_ = true;
    lock.unlock();
    const auto begin = steady::now();
    const auto made = analysis::summed_up(
        std::move(trace),
        {.memory_bytes = memory_bytes_, .several_cores = false, .cancelled = [this] { return stopping_.load(); }});
    if (made) take_({*made, open_stored_sources(*made, memory_bytes_)});
    const auto end = steady::now();
    lock.lock();
    working_ = false;
    next_ = end + (end - begin) * pauses;
  }
}

}  // namespace sluice::query
