#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "core/base/recent_entry.hpp"
#include "core/base/time/time_range.hpp"
#include "core/index/work/host_activity.hpp"
#include "core/trace/model/model.hpp"

/// Samples of host threads: what each thread was doing, and for how long.
namespace sluice::index {

/// What a thread did.
struct host_work {
  trace::stack_id stack{};  ///< None: the stack is unknown.
  trace::host_state state = trace::host_state::unknown;
  std::int64_t system_call = -1;  ///< As in `host_sample_event`.
  friend auto operator<=>(const host_work&, const host_work&) = default;
};
/// A hash of `host_work` for unordered containers.
struct host_work_hash {
  std::size_t operator()(const host_work& work) const;
};

/// What a thread was doing in [begin, end).
struct host_sample {
  time_ns begin = 0;
  time_ns end = 0;
  trace::host_state state = trace::host_state::unknown;
  trace::stack_id stack{};        ///< As in `host_work`.
  std::int64_t system_call = -1;  ///< As in `host_sample_event`.
  time_ns python_distance = -1;   ///< As in `host_sample_event`.
  trace::event_id event{};
  [[nodiscard]] host_work work() const { return {stack, state, system_call}; }
};

/// Samples of threads. Those of a thread are in order of time and do not overlap.
using samples_by_thread = std::map<thread_key, std::vector<host_sample>>;

/// Calls `use(sample, part)` for each sample of the thread that overlaps `range`, in order of time. `part` is the time
/// that the sample and the range have in common, never empty. O(log n + calls).
template <class Use>
void for_each_sample_in(const samples_by_thread& threads, const thread_key& thread, time_range range, Use&& use) {
  const auto found = threads.find(thread);
  if (found == threads.end()) return;
  const std::vector<host_sample>& samples = found->second;
  // The samples do not overlap, so their ends are in order, too.
  auto next = std::partition_point(samples.begin(), samples.end(),
                                   [&](const host_sample& each) { return each.end <= range.begin; });
  for (; next != samples.end() && next->begin < range.end; ++next) {
    const time_range part = intersect({next->begin, next->end}, range);
    if (part.length() > 0) use(*next, part);
  }
}

/// Collects samples, in any order. After `settle`, the samples of a thread are in order of (begin, event) and do not
/// overlap: a sample ends where the next one begins at the latest. A recorder writes no overlapping samples. If a file
/// has them, an index of a section may cut fewer of them than an index of the whole recording, because it does not read
/// the samples that end before the section. Not thread-safe while rows are added; immutable and
/// thread-safe after `settle`, until more rows are added.
class host_samples {
 public:
  void add(const std::vector<trace::host_sample_event>& rows);
  /// Sorts the samples that have been added, and cuts those that overlap a later one. O(n) if they were added in order
  /// of time, O(n log n) if not.
  void settle();

  [[nodiscard]] bool empty() const { return threads_.empty(); }
  [[nodiscard]] const samples_by_thread& threads() const { return threads_; }
  /// The number of rows with a negative length, which count as samples of length 0.
  [[nodiscard]] std::uint64_t malformed() const { return malformed_; }

  /// `for_each_sample_in` of these samples. Requires `settle`.
  template <class Use>
  void for_each_in(const thread_key& thread, time_range range, Use&& use) const {
    for_each_sample_in(threads_, thread, range, use);
  }

 private:
  samples_by_thread threads_;
  recent_entry<samples_by_thread> last_thread_;
  std::uint64_t malformed_ = 0;
};

}  // namespace sluice::index
