#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <vector>

#include "core/base/time/time_range.hpp"
#include "core/index/work/host_samples.hpp"
#include "core/metrics/idle/host_use.hpp"

/// Samples of host threads for gaps that are found section by section. Times are in ns.
namespace sluice::metrics {

/// Keeps the samples that an idle gap may still need: an index of a section has only those of the section, but a gap may
/// have begun earlier. Copies are independent. Not thread-safe while it changes.
class recent_samples {
 public:
  /// At most this many samples are kept from one section to the next: 56 MiB. If a device has been idle for so long
  /// that more would be needed, the older half is dropped, and its time counts as not sampled.
  static constexpr std::size_t max_kept = std::size_t{1} << 20;

  /// Adds the parts of the samples that lie in `part`. Parts are consecutive. O(samples in the part).
  void add(const index::host_samples& samples, time_range part);
  /// Forgets what ended before `time`. O(kept samples).
  void forget(time_ns time);

  /// True if a sample was ever added.
  [[nodiscard]] bool any() const { return any_; }

  /// Calls `use(sample, part)` for each sample of the thread that overlaps `range`, in order of time, as
  /// `index::host_samples::for_each_in` does. O(log n + calls).
  template <class Use>
  void for_each_in(const index::thread_key& thread, time_range range, Use&& use) const {
    const auto found = threads_.find(thread);
    if (found == threads_.end()) return;
    const std::vector<index::host_sample>& samples = found->second;
    auto next = std::partition_point(samples.begin(), samples.end(),
                                     [&](const index::host_sample& each) { return each.end <= range.begin; });
    for (; next != samples.end() && next->begin < range.end; ++next) {
      const time_range part = intersect({next->begin, next->end}, range);
      if (part.length() > 0) use(*next, part);
    }
  }

  /// Returns what the thread did in `range`, in order of (stack, state, system call). O(log n + samples * log samples).
  [[nodiscard]] std::vector<host_share> get_shares(const index::thread_key& thread, time_range range) const;

 private:
  void drop_before(time_ns time);

  std::map<index::thread_key, std::vector<index::host_sample>> threads_;
  std::size_t count_ = 0;
  bool any_ = false;
};

/// Adds shares to others. Both are in order of (stack, state, system call), and so is the result.
[[nodiscard]] std::vector<host_share> join(const std::vector<host_share>& a, const std::vector<host_share>& b);

}  // namespace sluice::metrics
