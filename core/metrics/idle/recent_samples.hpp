#pragma once

#include <cstddef>
#include <map>

#include "core/base/time/time_range.hpp"
#include "core/index/work/host_samples.hpp"

/// Samples of host threads for gaps that are found section by section. Times are in ns.
namespace sluice::metrics {

/// How long threads did what.
using work_times = std::map<index::host_work, time_ns>;

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

  /// Calls `use(sample, part)` as `index::for_each_sample_in` does.
  template <class Use>
  void for_each_in(const index::thread_key& thread, time_range range, Use&& use) const {
    index::for_each_sample_in(threads_, thread, range, use);
  }
  /// Adds what the thread did in `range` to `to`. O(log n + samples * log kinds of work).
  void add_times(const index::thread_key& thread, time_range range, work_times& to) const;

 private:
  void drop_before(time_ns time);

  index::samples_by_thread threads_;
  std::size_t count_ = 0;
  bool any_ = false;
};

}  // namespace sluice::metrics
