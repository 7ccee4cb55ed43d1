#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <vector>

#include "core/base/time/time_range.hpp"
#include "core/index/work/host_samples.hpp"

namespace sluice::metrics {

/// The samples of the recent past, from several sections. An idle gap may begin in an earlier section than the one in
/// which it ends. Copies are independent. Not thread-safe.
class sample_window {
 public:
  /// At most this many samples are kept from one section to the next: 90 MiB. If a device has been idle for so long
  /// that more are needed, the oldest are dropped, and their time counts as `unsampled`.
  static constexpr std::size_t max_kept = std::size_t{1} << 20;

  /// Adds the samples of a section. Sections must be added in order of time. Samples that a neighbouring section has,
  /// too, are added once. O(samples).
  void add(const index::host_samples& samples) {
    for (const auto& [thread, items] : samples.threads()) {
      std::vector<index::host_sample>& kept = threads_[thread];
      const time_ns last = kept.empty() ? -latest_time : kept.back().begin;
      auto next =
          std::partition_point(items.begin(), items.end(), [&](const auto& each) { return each.begin <= last; });
      if (kept.empty()) next = items.begin();
      kept.insert(kept.end(), next, items.end());
      count_ += static_cast<std::size_t>(items.end() - next);
    }
    any_ = any_ || count_ > 0;
  }

  /// Drops the samples that end at `time` or earlier, and more if too many would be kept. The last sample of a thread
  /// is always kept, so that `add` recognizes it. O(samples).
  void forget(time_ns time) {
    drop_before(time);
    if (count_ <= max_kept) return;
    std::vector<time_ns> ends;
    for (const auto& [thread, kept] : threads_)
      for (const index::host_sample& each : kept) ends.push_back(each.end);
    const auto middle = ends.begin() + static_cast<std::ptrdiff_t>(ends.size() / 2);
    std::nth_element(ends.begin(), middle, ends.end());
    drop_before(*middle);
  }

  /// True if a sample has ever been added.
  [[nodiscard]] bool any() const { return any_; }

  /// Calls `use(sample, part)` for each sample of the thread that overlaps `range`, in order of time, where `part` is
  /// the overlap. O(log n + calls).
  template <class Use>
  void for_each_in(const index::thread_key& thread, time_range range, Use&& use) const {
    const auto found = threads_.find(thread);
    if (found == threads_.end()) return;
    const std::vector<index::host_sample>& kept = found->second;
    auto next =
        std::partition_point(kept.begin(), kept.end(), [&](const auto& each) { return each.end <= range.begin; });
    for (; next != kept.end() && next->begin < range.end; ++next) {
      const time_range part = intersect({next->begin, next->end}, range);
      if (part.length() > 0) use(*next, part);
    }
  }

 private:
  void drop_before(time_ns time) {
    for (auto& [thread, kept] : threads_) {
      if (kept.empty()) continue;
      auto keep = std::partition_point(kept.begin(), kept.end(), [&](const auto& each) { return each.end <= time; });
      if (keep == kept.end()) --keep;
      count_ -= static_cast<std::size_t>(keep - kept.begin());
      kept.erase(kept.begin(), keep);
    }
  }

  std::map<index::thread_key, std::vector<index::host_sample>> threads_;
  std::size_t count_ = 0;
  bool any_ = false;
};

}  // namespace sluice::metrics
