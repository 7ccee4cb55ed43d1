#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "core/base/time/time_range.hpp"
#include "core/index/work/host_samples.hpp"
#include "core/metrics/stack_use.hpp"
#include "core/trace/model/model.hpp"
#include "core/trace/model/tables.hpp"

/// Sums the samples of host threads by what the threads did: "what ran while the GPU waited". Times are in ns.
namespace sluice::index {
class event_store;
}

namespace sluice::metrics {

/// Selects samples of host threads.
struct host_use_filter {
  time_range range;
  /// Count only the time in `range` in which `device` ran nothing. Here, the time before the device's first work and
  /// after its last is idle, too, because a range that was chosen may contain no work.
  bool only_idle = true;
  /// Count only threads that launched kernels or graphs in `range`. If no thread did, all threads count.
  bool only_launching = true;
  /// The device for `only_idle`. Threads of processes that have streams only on other devices, and of the descendants
  /// of such processes, do not count. None, or a device that ran no kernel: see `choose_device`.
  std::optional<trace::device_id> device{};
  trace::process_id process{};  ///< Only threads of this process; none: all processes.
  friend bool operator==(const host_use_filter&, const host_use_filter&) = default;
};

/// The time that threads spent on one kind of work.
struct host_share {
  index::host_work work;
  time_ns time = 0;           ///< Summed over threads.
  std::uint64_t samples = 0;  ///< Samples with a part in `time`.
};

/// Sums samples section by section, in order of time. The times do not depend on the cut into sections; a sample that
/// crosses a boundary between sections counts as two samples. Not thread-safe.
class host_use_builder {
 public:
  explicit host_use_builder(const host_use_filter& filter) : filter_(filter) {}

  /// Adds what `store` has in `part`. Parts are consecutive. `tables`: those of the recording.
  /// O(n log n) for n pieces of device work, plus O(samples and host calls).
  void add(const index::event_store& store, const trace::tables& tables, time_range part);

  /// The shares of all threads that count, in order of (stack, state, system call).
  [[nodiscard]] std::vector<host_share> get_shares(const trace::tables& tables) const;
  /// The device whose idle time counts; none if no device ran a kernel, or before `add`.
  [[nodiscard]] std::optional<trace::device_id> device() const { return device_; }
  /// The time in the parts so far in which `device` ran nothing.
  [[nodiscard]] time_ns idle() const { return idle_; }
  /// True if any thread launched a kernel or a graph in the parts so far.
  [[nodiscard]] bool launches_known() const;

 private:
  struct sum {
    time_ns time = 0;
    std::uint64_t samples = 0;
  };
  struct thread_use {
    bool launches = false;
    std::unordered_map<index::host_work, sum, index::host_work_hash> work;
  };
  void note_launches(const index::event_store& store, const trace::tables& tables, time_range part);
  bool is_launch(trace::string_id name, const trace::tables& tables);
  /// Returns the parts of `part` that count, in order.
  [[nodiscard]] std::vector<time_range> list_counted(const index::event_store& store, time_range part);

  const host_use_filter filter_;
  std::optional<trace::device_id> device_;
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
