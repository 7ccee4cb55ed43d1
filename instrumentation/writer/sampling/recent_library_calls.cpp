#include "instrumentation/writer/sampling/recent_library_calls.hpp"

#include <algorithm>
#include <limits>

namespace sluice::writer {

namespace {

constexpr trace::time_ns still_open = std::numeric_limits<trace::time_ns>::max();

/// True if `end` is more than `max_age` before `time`; a hostile process may have chosen both.
bool is_old(trace::time_ns end, trace::time_ns time) {
  const std::uint64_t age = static_cast<std::uint64_t>(time) - static_cast<std::uint64_t>(end);
  return time > end && age > std::uint64_t{recent_library_calls::max_age};
}

}  // namespace

void recent_library_calls::add(std::uint64_t tid, trace::time_ns time, std::uint64_t stack_key) {
  const bool known = threads_.contains(tid);
  if (!known && (stack_key == 0 || threads_.size() >= max_threads)) return;
  std::deque<call>& calls = threads_[tid];
  if (stack_key == 0) {
    const auto open = std::find_if(calls.rbegin(), calls.rend(), [](const call& c) { return c.end == still_open; });
    if (open != calls.rend()) open->end = std::max(time, open->begin);
    return;
  }
  std::erase_if(calls, [time](const call& c) { return is_old(c.end, time); });
  if (calls.size() >= max_calls) calls.pop_front();
  calls.push_back({time, still_open, stack_key});
}

std::uint64_t recent_library_calls::find(std::uint64_t tid, trace::time_ns time) const {
  const auto known = threads_.find(tid);
  if (known == threads_.end()) return 0;
  const std::deque<call>& calls = known->second;
  const auto in =
      std::find_if(calls.rbegin(), calls.rend(), [time](const call& c) { return c.begin <= time && time < c.end; });
  return in == calls.rend() ? 0 : in->stack_key;
}

}  // namespace sluice::writer
