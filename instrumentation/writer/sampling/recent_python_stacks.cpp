#include "instrumentation/writer/sampling/recent_python_stacks.hpp"

#include <algorithm>

namespace sluice::writer {

namespace {

/// The difference of two times, of which a hostile process may have chosen one.
std::uint64_t get_distance(trace::time_ns a, trace::time_ns b) {
  return static_cast<std::uint64_t>(std::max(a, b)) - static_cast<std::uint64_t>(std::min(a, b));
}

bool is_earlier(const python_sample& sample, trace::time_ns time) { return sample.time < time; }

}  // namespace

recent_python_stacks::samples& recent_python_stacks::get_thread(std::uint64_t tid) {
  const auto known = threads_.find(tid);
  if (known != threads_.end()) return known->second;
  if (threads_.size() >= max_threads) {
    threads_.erase(std::min_element(threads_.begin(), threads_.end(), [](const auto& a, const auto& b) {
      return a.second.back().time < b.second.back().time;
    }));
  }
  return threads_[tid];
}

void recent_python_stacks::add(std::uint64_t tid, const python_sample& sample) {
  samples& kept = get_thread(tid);
  if (kept.empty() || kept.back().time <= sample.time) {
    kept.push_back(sample);
  } else {
    const auto later = std::upper_bound(kept.begin(), kept.end(), sample.time,
                                        [](trace::time_ns time, const python_sample& s) { return time < s.time; });
    kept.insert(later, sample);
  }
  const trace::time_ns latest = kept.back().time;
  while (kept.size() > max_samples || get_distance(latest, kept.front().time) > std::uint64_t{max_age}) {
    kept.pop_front();
  }
}

std::optional<python_sample> recent_python_stacks::find(std::uint64_t tid, trace::time_ns time,
                                                        trace::time_ns max_distance) const {
  const auto known = threads_.find(tid);
  if (known == threads_.end() || max_distance < 0) return std::nullopt;
  const samples& kept = known->second;
  const auto after = std::lower_bound(kept.begin(), kept.end(), time, is_earlier);
  auto nearest = after;
  if (after == kept.end() ||
      (after != kept.begin() && get_distance(time, (after - 1)->time) <= get_distance(after->time, time))) {
    nearest = after - 1;
  }
  if (get_distance(nearest->time, time) > static_cast<std::uint64_t>(max_distance)) return std::nullopt;
  return *nearest;
}

}  // namespace sluice::writer
