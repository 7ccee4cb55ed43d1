#include "core/metrics/idle/recent_samples.hpp"

#include <iterator>

#include "core/base/saturating.hpp"

namespace sluice::metrics {
namespace {

bool comes_first(const host_share& a, const host_share& b) { return a.work < b.work; }

/// Adds up adjacent shares of equal work.
void merge_equal(std::vector<host_share>& sorted) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (kept > 0 && sorted[kept - 1].work == sorted[i].work) {
      saturating_add(sorted[kept - 1].time, sorted[i].time);
      sorted[kept - 1].samples += sorted[i].samples;
    } else {
      sorted[kept++] = sorted[i];
    }
  }
  sorted.resize(kept);
}

}  // namespace

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

std::vector<host_share> recent_samples::get_shares(const index::thread_key& thread, time_range range) const {
  std::vector<host_share> shares;
  for_each_in(thread, range, [&](const index::host_sample& sample, time_range part) {
    shares.push_back({sample.work(), part.length(), 1});
  });
  std::sort(shares.begin(), shares.end(), comes_first);
  merge_equal(shares);
  return shares;
}

std::vector<host_share> join(const std::vector<host_share>& a, const std::vector<host_share>& b) {
  std::vector<host_share> both;
  both.reserve(a.size() + b.size());
  std::merge(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both), comes_first);
  merge_equal(both);
  return both;
}

}  // namespace sluice::metrics
