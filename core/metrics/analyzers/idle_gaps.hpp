#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/base/time/time_range.hpp"
#include "core/index/memory/memory_use.hpp"
#include "core/index/work/host_activity.hpp"
#include "core/metrics/analyzers/octile_coverage.hpp"
#include "core/metrics/analyzers/run_ahead.hpp"
#include "core/metrics/metrics_scope.hpp"
#include "core/timeline/slice_kind.hpp"
#include "core/timeline/slice_set.hpp"
#include "core/trace/model/model.hpp"

/// Finds intervals in which a device was idle between its first and its last work, and what the host did meanwhile.
/// Times are in ns.
namespace sluice::index {
class event_store;
}

namespace sluice::metrics {

/// Why the host did not give the device work.
enum class gap_cause : std::uint8_t {
  host,           ///< The program's own code, without a call into CUDA.
  wait,           ///< A call that only waits for the device, such as cuStreamSynchronize.
  blocking_copy,  ///< A copy call that returns only when the copy is done, because it is synchronous or uses pageable
                  ///< memory.
  allocation,     ///< cuMemAlloc and similar calls.
  release,        ///< cuMemFree and similar calls, which wait for the device.
  loading,        ///< Calls that compile, load or instantiate modules, libraries or graphs.
  file,           ///< Reading or writing a file.
  // The following causes are the program's own code inside a range with one of these names. Sluice itself records these
  // ranges: see instrumentation/capture.
  garbage,      ///< "garbage collection": Python's garbage collector.
  compilation,  ///< "torch.compile".
  data,         ///< "next batch of the DataLoader", or torch.profiler's "enumerate(DataLoader)...".
  // The following causes count only if all threads that launch work are waiting, because some threads always wait, such
  // as a backward thread between two passes.
  lock,  ///< "waiting for a lock", "waiting for another thread".
  gil    ///< "waiting for Python's GIL".
};
inline constexpr std::size_t gap_cause_count = 12;

/// Returns the cause that a range of this name indicates; `host` for the program's own ranges.
[[nodiscard]] gap_cause cause_of_range(std::string_view name);

/// Returns the cause as findings word it, such as "synchronization".
[[nodiscard]] std::string_view get_words(gap_cause cause);

/// Returns the cause that a call of this name indicates; `host` for calls that return at once.
[[nodiscard]] gap_cause cause_of_call(std::string_view name);

/// The idle gaps of a device that have the same cause, grouped by the nearest call stack.
struct gap_group {
  trace::device_id device{};
  gap_cause cause{};
  trace::string_id call{};  ///< The call that took the time; `none` if host code did.
  /// The innermost named range that covers half of the longest gap; `none` if there is no such range.
  trace::string_id range{};
  /// The stack of `call`. If `call` has no stack, the stack of the next call that has one, because the host code ran
  /// before that call.
  trace::stack_id stack{};
  bool stack_is_next = false;  ///< True if `stack` is that of the next call.
  std::uint64_t count = 0;
  /// Sum of the gaps or, for gaps due to a call, of the parts that the call costs. Such a part is as long as the call
  /// blocked the host, because otherwise the host could have started its subsequent work that much earlier.
  time_ns total = 0;
  time_ns longest = 0;
  time_range longest_gap;
  /// `total` without the three longest gaps, because startup, compilation and saving happen only once.
  time_ns recurring = 0;
  std::uint64_t spread = 0;  ///< Number of eighths of the device's work that contain gaps.
  /// The part of `recurring` that would be saved without the calls. A call that blocks the host keeps the host from
  /// running ahead of the device. This can cost more or less than the gap itself. `saved` is this group's share of the
  /// cost of all such calls: see `gain_of_running_ahead`.
  time_ns saved = 0;
};

/// An interval in which a device was idle.
struct idle_gap {
  trace::device_id device{};
  time_range span;
  gap_cause cause{};              ///< The cause of most of the gap.
  time_ns caused = 0;             ///< The part of `span` that `cause` explains. The rest is due to host code.
  trace::string_id call{};        ///< As in `gap_group`.
  trace::stack_id stack{};        ///< As in `gap_group`.
  bool stack_is_next = false;     ///< As in `gap_group`.
  trace::string_id range{};       ///< As in `gap_group`.
  timeline::slice_kind before{};  ///< The kind of work that ended when the gap began.
  trace::event_id after{};        ///< The work that ended the gap.
  timeline::slice_kind after_kind{};
  trace::string_id after_name{};
};

/// The distribution of the lengths of all gaps on a device.
struct gap_lengths {
  struct bin {
    std::uint64_t count = 0;
    time_ns total = 0;
  };
  std::uint64_t count = 0;
  time_ns total = 0;
  /// Bin i counts gaps of [2^i, 2^(i+1)) ns.
  std::array<bin, 63> bins{};
};

/// The driver calls that allocate memory, or the driver calls that free it, grouped by the stack that allocates.
struct driver_call_group {
  trace::string_id call{};  ///< The call that allocated the memory.
  trace::stack_id stack{};
  trace::memory_kind kind = trace::memory_kind::unknown;
  bool frees = false;  ///< True if the group consists of the calls that free the memory.
  trace::process_id process{};
  std::uint64_t count = 0;
  time_ns total = 0;  ///< Time inside the calls.
  time_ns first = 0;
  time_ns last = 0;
};

/// Finds idle gaps of devices with recorded kernels, section by section in order of time.
class idle_gaps_builder {
 public:
  /// `scope` must outlive this object. `listed`: the number of the longest gaps of each device that are kept
  /// individually.
  explicit idle_gaps_builder(const metrics_scope& scope, std::size_t listed = 0) : scope_(scope), listed_(listed) {}

  /// Adds the events in `run`, the time range that `store` covers. O(events * log events).
  void add(const index::event_store& store, time_range run);
  /// Returns the groups worth reporting, sorted by `total`, longest first: the first `limit` groups, plus the first
  /// eight of each device.
  [[nodiscard]] std::vector<gap_group> gaps() const;
  [[nodiscard]] std::vector<driver_call_group> driver_calls() const;
  /// Returns the longest gaps of each device, longest first; at most `listed` (see the constructor) per device.
  [[nodiscard]] std::vector<idle_gap> longest() const;
  /// The lengths of all gaps, indexed by device.
  [[nodiscard]] const std::map<trace::device_id, gap_lengths>& lengths() const { return lengths_; }

  /// Shorter gaps are launch overhead and are ignored.
  static constexpr time_ns shortest_gap = 10'000;
  /// A shorter gap without a call that explains it is ignored, because the program simply gives the device little work.
  static constexpr time_ns shortest_host_gap = 1'000'000;
  /// A copy call that is named asynchronous but takes this long waits for its source or for the device.
  static constexpr time_ns blocking_copy_time = 50'000;
  /// A call that reads data from the device in less time did not wait.
  static constexpr time_ns min_read_time = 8'000;
  /// A copy to the host of at most this many bytes reads a value that the program wants to inspect.
  static constexpr std::uint64_t small_read = 4096;
  static constexpr std::size_t limit = 64;

 private:
  struct host_call {
    time_ns begin = 0;
    time_ns end = 0;
    trace::string_id name{};
    trace::stack_id stack{};
    gap_cause cause{};
  };
  struct placed_stack {
    time_ns time = 0;
    trace::stack_id stack{};
  };
  struct thread_calls {
    bool launches = false;         ///< True if the thread gives work to devices.
    std::vector<host_call> calls;  ///< In order of start.
    [[nodiscard]] bool launches_after(time_ns time) const {
      return launches && !calls.empty() && calls.back().begin >= time;
    }
  };
  struct host_side {
    std::map<index::thread_key, thread_calls> threads;
    /// Stacks of calls and allocations, in order of time.
    std::map<trace::process_id, std::vector<placed_stack>> stacks;
  };
  [[nodiscard]] host_side get_host(const index::event_store& store, time_range run);
  void add_driver_calls(const index::event_store& store, time_range run, host_side& to);
  /// Splits a gap into the part that a call blocked and the rest. `progress`: the time for which the device had been
  /// busy before the gap.
  void add_gap(const index::event_store& store, const host_side& host, idle_gap gap, time_ns progress);
  /// Sets the cause and the range of a gap that no call explains, from the ranges of the processes that use the device.
  void set_range(gap_group& group, const index::event_store& store, const host_side& host, time_range gap);
  /// Keeps the gap if it is among the longest of its device.
  void list(const idle_gap& gap);
  /// If `group` has no stack, sets the stack of the next call after `begin` in the processes that use the device.
  void set_stack(gap_group& group, const host_side& host, time_ns begin) const;
  void count(const gap_group& one, time_range gap, time_ns lost, time_ns progress);
  /// `works`: for each process, its work on devices that run kernels.
  void add_gain(std::map<trace::process_id, std::vector<queued_work>> works, const index::event_store& store,
                const host_side& host);
  /// What the name of a call implies.
  struct call_kind {
    gap_cause cause = gap_cause::host;
    bool launches = false;
  };
  call_kind get_kind(trace::string_id call);
  static gap_cause cause_of_copy(const timeline::slice_item& call, std::string_view name);

  const metrics_scope& scope_;
  const std::size_t listed_;
  std::map<trace::device_id, std::vector<idle_gap>> longest_;  ///< Each list is a heap with the shortest gap first.
  std::map<trace::device_id, gap_lengths> lengths_;
  struct device_progress {
    time_ns until = 0;            ///< End of the last work.
    time_ns busy = 0;             ///< Sum of the durations of the busy intervals.
    timeline::slice_kind last{};  ///< The kind of the work that ends at `until`.
  };
  std::map<trace::device_id, device_progress> progress_;
  /// For each device, the processes that gave it work.
  std::map<trace::device_id, std::set<trace::process_id>> users_;
  std::map<std::uint64_t, call_kind> kinds_;
  bool gain_known_ = false;  ///< True if the times at which work was requested are known.
  time_ns gain_ = 0;         ///< The cost of all calls that block the host, summed over sections.
  struct gathered {
    gap_group group;
    std::array<time_ns, 3> longest{};  ///< The lengths of the longest gaps, longest first.
    progress_samples progress;         ///< For each gap, the time for which the device had been busy before the gap.
  };
  std::map<std::tuple<trace::device_id, gap_cause, trace::string_id, trace::stack_id>, gathered> all_;
  std::map<std::tuple<trace::stack_id, trace::string_id, bool>, driver_call_group> driver_;
};

}  // namespace sluice::metrics
