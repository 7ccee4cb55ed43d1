#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/base/time/time_range.hpp"
#include "core/metrics/idle/gap_host.hpp"

/// Splits an idle gap of a device into parts, so that each ns has exactly one cause. Times are in ns.
namespace sluice::metrics {

/// A part of a gap.
struct gap_part {
  time_range span;
  gap_cause cause{};
  const host_call* call = nullptr;  ///< The call that took the time; null if there is none.
};

/// Splits gaps. Keeps its buffers from gap to gap, so that it allocates nothing once they are large enough.
///
/// A gap [begin, end) lies between two pieces of work. `enqueued` is when the call began that requested the second. The
/// rules, in order:
///
/// 1. `enqueued` <= begin: the host was early enough, so the whole gap is `queued`. The work waits for a dependency (an
///    event, a stream, a copy) or for the device itself, which needs about 1 us between two kernels of a stream. Nor
///    does a launch call that a full queue blocks cost anything: its work, too, was requested before the gap. An
///    exception is a blocking copy that is running at `begin` and requested the work, because such a call first copies
///    pageable memory on the host.
/// 2. If a call that blocks the host is running at `begin`, the first part of the gap is its. The part is as long as
///    the call blocked the host, at most the gap, because otherwise the host could have started all that followed that
///    much earlier. Of calls that run at once, the one that began last counts. Reading files and loading code counts
///    only on the thread that requested the next work, if that thread is known, because other threads do so beside it.
/// 3. Up to `enqueued` (up to `end` if it is unknown), the time belongs to the host: to calls that begin in the gap and
///    have a cause; then to ranges for garbage collection, compilation and the DataLoader, in this order; then to locks
///    and Python's GIL, while all threads that launch are waiting; and the rest to the program's own code (`host`). A
///    wait that begins while the device is idle returns at once, so it is host code unless it takes `min_idle_wait`,
///    which means that it waits for another device.
/// 4. From `enqueued` on, the time belongs to the launch (`launch`), unless the call that requested the work has a
///    cause of its own or takes at least `longest_launch`; then it is the time of that call.
/// 5. If less than `short_host` of the gap is the program's own code, that is `launch`, too: the host launches one
///    kernel after another and does nothing else.
///
/// Limits: clocks of host and device agree to about 1 us, so shorter parts may have the wrong cause. A launch that
/// begins less than its latency (some 5 us) before the last work ends counts as queued. Work whose `enqueued` is
/// unknown, such as in most imported recordings, has neither `queued` parts nor launch latency.
class gap_splitter {
 public:
  /// Below this, host code between two launches is the cost of launching. A recorded launch call takes 3 us on the host
  /// (measured), and PyTorch's eager mode some 5 to 10 us from one operator to the next. This is twice as much.
  static constexpr time_ns short_host = 20'000;
  /// A launch call takes 3 us, and 5 to 10 us until the work begins. A call of this length does something else, such as
  /// loading the kernel's module on its first launch (CUDA_MODULE_LOADING=LAZY).
  static constexpr time_ns longest_launch = 100'000;
  /// A wait on an idle device takes less than 1 us.
  static constexpr time_ns min_idle_wait = 50'000;

  /// Returns the parts, in order of time. They are disjoint and cover `gap`. `host`: the process that requested the
  /// work that ends the gap; null if nothing was recorded of it. Pointers in the result are valid until `host` changes,
  /// the result itself until the next call. O(log n + host events in the gap).
  std::span<const gap_part> split(const process_timeline* host, time_range gap, std::optional<time_ns> enqueued);

  /// The call that requested the work of the last gap; null if it was not recorded, or for a `queued` gap.
  [[nodiscard]] const host_call* enqueuing() const { return enqueuing_; }
  /// The call that was running when the last gap began (rule 2); null if there was none.
  [[nodiscard]] const host_call* running() const { return running_; }

 private:
  /// Sets `enqueuing_` and `running_`.
  void find_calls(const process_timeline* host, time_range gap, std::optional<time_ns> enqueued);
  [[nodiscard]] bool counts(const host_call& call) const;
  void split_host(const process_timeline& host, time_range gap, time_range window);
  void split_launch(time_range rest);
  void merge_short();
  /// Assigns the parts of `free_` that `level_` covers. `level_` is in order of begin, and may overlap.
  void take_level();

  const host_call* enqueuing_ = nullptr;
  const host_call* running_ = nullptr;
  std::vector<gap_part> parts_;
  std::vector<gap_part> level_;   ///< Intervals of one level of rule 3.
  std::vector<time_range> free_;  ///< What no level has taken yet, in order.
  std::vector<time_range> left_;
  std::vector<host_range> waits_;
};

}  // namespace sluice::metrics
