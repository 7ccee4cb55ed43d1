#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/time/time_range.hpp"
#include "core/metrics/idle/gap_causes.hpp"
#include "core/trace/model/model.hpp"

/// The verdict: the first line of a report.
namespace sluice::metrics {

/// What takes most of the time after start-up.
enum class run_bound : std::uint8_t {
  unknown,   ///< No kernel times were recorded, or nothing ran.
  kernels,   ///< Kernels and memsets, without collectives that run alone.
  launches,  ///< Idle time, most of it because the host launches kernels more slowly than the GPU runs them.
  copies,    ///< Copies during which no kernel ran.
  waiting,   ///< Collectives that run alone, in which a GPU waits for the others or for the network.
  idle       ///< Idle time, most of it due to another cause: see `run_verdict::idle_cause`.
};

/// Returns the bound as one word for SQL and JSON, such as "launches". These words are public.
[[nodiscard]] std::string_view get_word(run_bound bound);

/// How a device spent the time after start-up. The rest of `run_verdict::time` is idle.
struct device_time {
  trace::device_id device{};
  /// Time with kernels or memsets (`device_activity::busy`), without the two that follow.
  time_ns busy = 0;
  time_ns only_copies = 0;       ///< `device_activity::copy_only`.
  time_ns only_collectives = 0;  ///< `device_idle::collectives_alone`.
};

/// A number of the verdict, to show on its own, such as "45 %" and "GPU busy".
struct verdict_number {
  std::string value;
  std::string label;
};

/// The verdict. Every number is one of the report's, or a sum or quotient of those, as stated here.
struct run_verdict {
  /// Everything in one line: numbers, bound, problems, largest opportunity, and what was not recorded.
  std::string text;
  /// The most important part of `text`, without a final period: an error, else the bound, else the largest problem.
  std::string headline;
  /// The largest opportunities, as in `text`; empty if no finding saves `worth_naming`.
  std::string opportunity;
  std::vector<verdict_number> numbers;  ///< The numbers in `text` about the whole run, without what is unknown.
  std::vector<std::string> missing;     ///< What was not recorded, such as "kernel times not recorded".
  run_bound bound = run_bound::unknown;
  bool no_problem = false;  ///< `text` says that no problem was found.

  time_ns time = 0;  ///< Active time without one-time work (`working_time`), to which the shares of time refer.
  bool after_start_up = false;       ///< True if one-time work takes a notable part of the active time.
  std::vector<device_time> devices;  ///< Devices that ran kernels or, if none did, copies. Empty if unknown.
  /// The cause with the most idle time after start-up (`cause_time`, without the one-time part of the same cause's
  /// `gap_group`s), as a mean over `devices`. No value if the device is not idle, or the cause is unknown.
  std::optional<gap_cause> idle_cause;
  time_ns idle_cause_time = 0;

  time_ns step = 0;         ///< Longest `step_summary::median_duration` of the processes; 0 if there are no steps.
  std::uint64_t steps = 0;  ///< The number of steps of that process.
  bool steps_inferred = false;

  std::uint64_t peak = 0;  ///< `main_peak`; 0 if no device memory was recorded.
  trace::device_id peak_device{};
  std::uint64_t device_bytes = 0;  ///< The memory of `peak_device`; 0 if unknown.
  /// The most memory in use on the device that came closest to its limit: `untracked_statistics::used_maximum` or, if
  /// it was not sampled, the maximum of the driver layer, and the memory of that device.
  std::uint64_t used = 0, used_of = 0;
  bool near_limit = false;  ///< `used` is at least `nearly_full` of `used_of`.

  std::int64_t slow_rank = -1;  ///< The rank that the others wait for, or whose steps take longer; -1 if there is none.

  /// Indices in `report::findings` of the finding that saves the largest share, of time or memory, and of the one that
  /// saves the largest share of the other; at least `worth_naming`.
  std::optional<std::size_t> largest, other;

  [[nodiscard]] double get_share(time_ns part) const {
    return time > 0 ? static_cast<double>(part) / static_cast<double>(time) : 0;
  }
  /// Returns the idle time of a device after start-up.
  [[nodiscard]] time_ns get_idle(const device_time& of) const {
    const time_ns rest = time - of.busy - of.only_copies - of.only_collectives;
    return rest > 0 ? rest : 0;
  }

  /// From this share (of time, peak or reserved memory) on, a finding is an opportunity. Runs differ by about as much.
  static constexpr double worth_naming = 0.03;
  /// From this share on, a GPU is busy: what is left are gaps between kernels and the ends of steps.
  static constexpr double busy = 0.9;
  /// From this share on, the memory of a GPU is near its limit: a rare larger batch then fails.
  static constexpr double nearly_full = 0.9;
};

}  // namespace sluice::metrics
