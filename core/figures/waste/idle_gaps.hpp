#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/figures/figures_scope.hpp"
#include "core/figures/waste/eighths.hpp"
#include "core/figures/waste/run_ahead.hpp"
#include "core/index/memory/memory_use.hpp"
#include "core/index/work/host_activity.hpp"
#include "core/timeline/slice_kind.hpp"
#include "core/timeline/slice_set.hpp"
#include "core/timeline/time_range.hpp"
#include "core/trace/model/model.hpp"

/// When a device had nothing to do between its first and its last work, and what the host did meanwhile. Times in ns.
namespace sluice::analysis {

class index;

/// What kept the host from giving the device work.
enum class gap_cause : std::uint8_t {
  host,           ///< No call into CUDA: the program's own code.
  wait,           ///< A call that only waits for the device (cuStreamSynchronize).
  blocking_copy,  ///< A copy that returns when it is done: synchronous, or from or to pageable memory.
  allocation,     ///< cuMemAlloc and its like.
  release,        ///< cuMemFree and its like, which wait for the device.
  loading,        ///< Modules, libraries and graphs: compiling, loading, instantiating.
  file,           ///< Reading or writing a file.
  // The program's own code, in a range of one of these names. Sluice makes such ranges: see instrumentation/capture.
  garbage,      ///< "garbage collection": Python's.
  compilation,  ///< "torch.compile".
  data,         ///< "next batch of the DataLoader", or torch.profiler's "enumerate(DataLoader)...".
  // Only if all threads that launch work wait: some always do, as those of a backward pass between two passes.
  lock,  ///< "waiting for a lock", "waiting for another thread".
  gil    ///< "waiting for Python's GIL".
};
inline constexpr std::size_t gap_cause_count = 12;

/// What a program does in a range of this name; `host` for the program's own ranges.
[[nodiscard]] gap_cause cause_of_range(std::string_view name);

/// "a wait for the GPU", as findings name the cause.
[[nodiscard]] std::string_view words_of(gap_cause cause);

/// What a call of this name does while the device has nothing to do. `host` for calls that return at once.
[[nodiscard]] gap_cause cause_of_call(std::string_view name);

/// The idle gaps of a device with one cause, by the call stack nearest to them.
struct gap_group {
  trace::device_id device{};
  gap_cause cause{};
  trace::string_id call{};     ///< The call that took the time; none for the program's own code.
  trace::string_id range{};    ///< The innermost named range that covers half of the longest gap; none: no such range.
  trace::stack_id stack{};     ///< Of that call, else of the next call with a stack: the code that ran is before it.
  bool stack_is_next = false;  ///< `stack` is of the next call.
  std::uint64_t count = 0;
  /// Sum of the gaps, or of the parts of them that the call costs: as much as it blocked the host, for what the host does
  /// after it could have begun that much earlier.
  time_ns total = 0;
  time_ns longest = 0;
  time_range longest_gap;
  time_ns recurring = 0;     ///< `total` without the three longest gaps: starting, compiling and saving take long once.
  std::uint64_t spread = 0;  ///< In how many eighths of the device's work there are gaps.
  /// Of `recurring`, what would be saved without the calls; a call that blocks the host keeps it from running ahead, which
  /// can cost more than the gap, or less. This group's part of what all such calls cost: see `gain_of_running_ahead`.
  time_ns saved = 0;
};

/// A time in which a device had nothing to do.
struct idle_gap {
  trace::device_id device{};
  time_range span;
  gap_cause cause{};           ///< What took most of it.
  time_ns caused = 0;          ///< The part of `span` that `cause` takes; the rest is the program's own code.
  trace::string_id call{};     ///< As in `gap_group`.
  trace::stack_id stack{};     ///< As in `gap_group`.
  bool stack_is_next = false;  ///< As in `gap_group`.
  trace::string_id range{};    ///< As in `gap_group`.
  slice_kind before{};         ///< The work that ended when the gap began.
  trace::event_id after{};     ///< The work that ended the gap.
  slice_kind after_kind{};
  trace::string_id after_name{};
};

/// All gaps of a device that were found, by length.
struct gap_lengths {
  struct bin {
    std::uint64_t count = 0;
    time_ns total = 0;
  };
  std::uint64_t count = 0;
  time_ns total = 0;
  /// In bin i, gaps of [2^i, 2^(i+1)) ns.
  std::array<bin, 63> bins{};
};

/// The calls that allocate memory of the driver, and those that free it, by the stack that allocates.
struct driver_call_group {
  trace::string_id call{};  ///< The allocating call.
  trace::stack_id stack{};
  trace::memory_kind kind = trace::memory_kind::unknown;
  bool frees = false;
  trace::process_id process{};
  std::uint64_t count = 0;
  time_ns total = 0;  ///< Time inside the calls.
  time_ns first = 0;
  time_ns last = 0;
};

/// Finds idle gaps of devices whose kernels were recorded, from indexes of sections in order of time.
class idle_gaps_builder {
 public:
  /// `scope` must outlive this. `listed`: how many single gaps to keep, the longest of each device.
  explicit idle_gaps_builder(const figures_scope& scope, std::size_t listed = 0) : scope_(scope), listed_(listed) {}

  /// Adds the events in `run`, the time range of `from`. O(events * log).
  void add(const index& from, time_range run);
  /// The gaps that are counted, longest total first: the first `limit` groups, and the first eight of each device.
  [[nodiscard]] std::vector<gap_group> gaps() const;
  [[nodiscard]] std::vector<driver_call_group> driver_calls() const;
  /// The longest gaps of each device, longest first, as many as asked for.
  [[nodiscard]] std::vector<idle_gap> longest() const;
  /// By device.
  [[nodiscard]] const std::map<trace::device_id, gap_lengths>& lengths() const { return lengths_; }

  /// Shorter gaps are what launching costs.
  static constexpr time_ns shortest_gap = 10'000;
  /// Without a call that takes the time, shorter gaps are those of a program that gives the device little work.
  static constexpr time_ns shortest_host_gap = 1'000'000;
  /// An "asynchronous" copy call that takes this long waits for its source or for the device.
  static constexpr time_ns blocking_copy_time = 50'000;
  static constexpr time_ns least_read_time = 8'000;  ///< A read that takes less did not wait.
  static constexpr std::uint64_t small_read = 4096;  ///< In bytes. Such a copy from the device is read to be looked at.
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
    bool launches = false;         ///< It gives devices work.
    std::vector<host_call> calls;  ///< In order of begin.
    [[nodiscard]] bool launches_after(time_ns time) const {
      return launches && !calls.empty() && calls.back().begin >= time;
    }
  };
  struct host_side {
    std::map<thread_key, thread_calls> threads;
    /// Of calls and allocations, in order of time.
    std::map<trace::process_id, std::vector<placed_stack>> stacks;
  };
  [[nodiscard]] host_side host_of(const index& from, time_range run);
  void add_driver_calls(const index& from, time_range run, host_side& to);
  /// Divides a gap between the call that blocked the host and what the host did besides. `progress`: how long the device
  /// was busy before.
  void add_gap(const index& from, const host_side& host, idle_gap gap, time_ns progress);
  /// Sets the cause of a gap without a call, and its range, from the ranges of the processes that use the device.
  void set_range(gap_group& of, const index& from, const host_side& host, time_range gap);
  /// Keeps the gap if it is among the longest of its device.
  void list(const idle_gap& gap);
  /// Sets the stack of the next call after `from` of the processes that use the device, if `of` has none.
  void set_stack(gap_group& of, const host_side& host, time_ns from) const;
  void count(const gap_group& one, time_range gap, time_ns lost, time_ns progress);
  /// `works`: of each process, on devices that run kernels.
  void add_gain(std::map<trace::process_id, std::vector<queued_work>> works, const index& from, const host_side& host);
  /// What a call of this name does.
  struct call_kind {
    gap_cause cause = gap_cause::host;
    bool launches = false;
  };
  call_kind kind_of(trace::string_id call);
  static gap_cause cause_of_copy(const timeline::slice_item& call, std::string_view name);

  const figures_scope& scope_;
  const std::size_t listed_;
  std::map<trace::device_id, std::vector<idle_gap>> longest_;  ///< A heap: the shortest of them first.
  std::map<trace::device_id, gap_lengths> lengths_;
  struct device_progress {
    time_ns until = 0;  ///< End of the last work.
    time_ns busy = 0;   ///< Sum of the busy times.
    slice_kind last{};  ///< The work that ends at `until`.
  };
  std::map<trace::device_id, device_progress> progress_;
  std::map<trace::device_id, std::set<trace::process_id>> users_;  ///< The processes that gave a device work.
  std::map<std::uint64_t, call_kind> kinds_;
  bool gain_known_ = false;  ///< It is known when works were called for.
  time_ns gain_ = 0;         ///< What all calls that block the host cost, one section after another.
  struct gathered {
    gap_group made;
    std::array<time_ns, 3> longest{};  ///< The lengths of the longest gaps, longest first.
    progress_samples progress;         ///< How long the device had been busy before gaps.
  };
  std::map<std::tuple<trace::device_id, gap_cause, trace::string_id, trace::stack_id>, gathered> all_;
  std::map<std::tuple<trace::stack_id, trace::string_id, bool>, driver_call_group> driver_;
};

}  // namespace sluice::analysis
