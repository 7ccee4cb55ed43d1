#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "core/base/time/time_range.hpp"
#include "core/index/work/host_samples.hpp"
#include "core/metrics/base/stack_use.hpp"
#include "core/trace/model/model.hpp"
#include "core/trace/model/tables.hpp"

/// Sums the samples of host threads by what the threads did: "what ran while the GPU waited". Times are in ns.
namespace sluice::index {
class event_store;
}

namespace sluice::metrics {

/// Selects samples of host threads.
///
/// A process uses the devices on which it has streams or, if it has none, those of its nearest ancestor with streams. A
/// process without either uses all devices. So the workers of a data loader belong to the devices of their program.
struct host_use_filter {
  time_range range;
  /// Count only the time in `range` that is idle (`host_share::idle`).
  bool only_idle = true;
  /// Count only threads that launched kernels or graphs in `range`. If no thread did, all threads count.
  bool only_launching = true;
  /// Count only threads of processes that use this device, and only its idle time. None: each thread waits for all
  /// devices that its process uses.
  std::optional<trace::device_id> device{};
  trace::process_id process{};               ///< Only threads of this process; none: all processes.
  std::optional<trace::thread_id> thread{};  ///< Only this thread.
  std::optional<trace::host_state> state{};  ///< Only samples with this state.
  friend bool operator==(const host_use_filter&, const host_use_filter&) = default;
};

/// The time that threads spent on one kind of work.
struct host_share {
  index::host_work work;
  time_ns time = 0;  ///< Summed over threads. With `only_idle`, equal to `idle`.
  /// The part of it in which the devices that the thread waited for ran nothing. The time before a device's first work
  /// and after its last is idle, too, because a range that was chosen may contain no work. Only devices that ran kernels
  /// count; 0 if there is none.
  time_ns idle = 0;
  std::uint64_t samples = 0;  ///< Samples with a part in `time`.
};

/// Sums samples section by section, in order of time. The result does not depend on the cut into sections. Not
/// thread-safe.
class host_use_builder {
 public:
  explicit host_use_builder(const host_use_filter& filter) : filter_(filter) {}

  /// Adds what `store` has in `part`. Parts are consecutive. `tables`: those of the recording. Incomplete once
  /// `cancelled` becomes true. O(n log n) for n pieces of device work, plus O(samples * log n + host calls).
  void add(const index::event_store& store, const trace::tables& tables, time_range part,
           const std::atomic<bool>& cancelled);

  /// The shares of all threads that count, in order of (stack, state, system call).
  [[nodiscard]] std::vector<host_share> get_shares(const trace::tables& tables) const;
  /// The same by stack: `stack_metrics::busy` is the time, `alone` the idle part of it, and `count` the number of
  /// samples. Samples without a stack count under `stack_id::none`. `kernels_known`: a device ran kernels that counts.
  [[nodiscard]] stack_use get_stacks(const trace::tables& tables) const;
  /// The time in the parts so far in which `filter.device` ran nothing; 0 without a device.
  [[nodiscard]] time_ns idle() const { return idle_; }
  /// True if any thread launched a kernel or a graph in the parts so far; only known with `only_launching`.
  [[nodiscard]] bool launches_known() const;

 private:
  struct sum {
    time_ns time = 0;
    time_ns idle = 0;
    std::uint64_t samples = 0;
  };
  struct thread_use {
    bool launches = false;
    std::optional<time_ns> last;  ///< The begin of the last sample that was counted.
    std::unordered_map<index::host_work, sum, index::host_work_hash> work;
  };
  void note_launches(const index::event_store& store, const trace::tables& tables, time_range part);
  bool is_launch(trace::string_id name, const trace::tables& tables);
  [[nodiscard]] bool takes(const index::thread_key& thread) const;
  /// Adds a sample's part. `busy`: when the devices that the thread waits for work; null: there are none.
  void add_sample(thread_use& thread, const index::host_sample& sample, time_range part,
                  const timeline::coverage* busy) const;

  const host_use_filter filter_;
  bool kernels_known_ = false;
  time_ns idle_ = 0;
  std::map<index::thread_key, thread_use> threads_;
  std::unordered_map<std::uint64_t, bool> launches_;  ///< Keyed by the id of a call's name.
};

/// The devices that ran kernels at any time during the recording, in order of their numbers.
[[nodiscard]] std::vector<trace::device_id> list_kernel_devices(const index::event_store& store,
                                                                const trace::tables& tables);
/// Returns `wanted` if that device ran a kernel, else the first device that did.
[[nodiscard]] std::optional<trace::device_id> choose_device(std::optional<trace::device_id> wanted,
                                                            const std::vector<trace::device_id>& devices);

}  // namespace sluice::metrics
