#include "instrumentation/backend/simulated/work_queue.hpp"

namespace sluice::backend::simulated {

void work_queue::add(std::int64_t end, std::function<void()> work) {
  pending_.emplace(std::pair{end, next_sequence_++}, std::move(work));
}

void work_queue::run_until(std::int64_t time) {
  while (!pending_.empty() && pending_.begin()->first.first <= time) {
    const std::function<void()> work = std::move(pending_.begin()->second);
    pending_.erase(pending_.begin());
    if (work) work();
  }
}

}  // namespace sluice::backend::simulated
