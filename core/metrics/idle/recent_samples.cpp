#include "core/metrics/idle/recent_samples.hpp"

#include <algorithm>
#include <iterator>
#include <vector>

#include "core/base/saturating.hpp"

namespace sluice::metrics {

void recent_samples::add(const index::host_samples& samples, time_range part) {
  for (const auto& [thread, all] : samples.threads()) {
    std::vector<index::host_sample>* to = nullptr;
    samples.for_each_in(thread, part, [&, &key = thread](const index::host_sample& sample, time_range inside) {
      if (to == nullptr) to = &threads_[key];
      index::host_sample& kept = to->emplace_back(sample);
      kept.begin = inside.begin;
      kept.end = inside.end;
      ++count_;
      any_ = true;
    });
  }
}

void recent_samples::drop_before(time_ns time) {
  for (auto each = threads_.begin(); each != threads_.end();) {
    std::vector<index::host_sample>& samples = each->second;
    const auto old = std::partition_point(samples.begin(), samples.end(),
                                          [&](const index::host_sample& sample) { return sample.end <= time; });
    count_ -= static_cast<std::size_t>(old - samples.begin());
    samples.erase(samples.begin(), old);
    each = samples.empty() ? threads_.erase(each) : std::next(each);
  }
}

void recent_samples::forget(time_ns time) {
  drop_before(time);
  if (count_ <= max_kept) return;
  std::vector<time_ns> ends;
  ends.reserve(count_);
  for (const auto& [thread, samples] : threads_)
    for (const index::host_sample& each : samples) ends.push_back(each.end);
  const auto middle = ends.begin() + static_cast<std::ptrdiff_t>(ends.size() / 2);
  std::nth_element(ends.begin(), middle, ends.end());
  drop_before(*middle);
}

void recent_samples::add_times(const index::thread_key& thread, time_range range, work_times& to) const {
  for_each_in(thread, range, [&](const index::host_sample& sample, time_range part) {
    saturating_add(to[sample.work()], part.length());
  });
}

}  // namespace sluice::metrics
