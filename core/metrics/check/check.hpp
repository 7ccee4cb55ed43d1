#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/metrics/report/report.hpp"

/// Checks a recording against limits, as a test does. The functions take a report and limits and return verdicts. They
/// take all metrics from the report and recompute nothing. `sluice check` prints the verdicts.
namespace sluice::metrics {

/// Whether a recording meets a condition.
enum class verdict : std::uint8_t {
  met,
  not_met,
  unknown  ///< The recording does not have the metric, or has only an inexact value.
};

/// Returns "met", "not met" or "unknown".
[[nodiscard]] std::string_view get_name(verdict value);

/// The unit of a limit and of the measured value.
enum class quantity : std::uint8_t {
  bytes,
  bytes_per_step,
  share,  ///< A share of a whole, 0..1.
  time,   ///< In ns.
  count
};

/// Returns a value as text: "1.50 GiB", "1.00 MiB per step", "12 %", "3.10 ms", "4".
[[nodiscard]] std::string format_quantity(double value, quantity wanted);

/// The limits for a recording. A limit that is not set is not checked.
struct check_limits {
  std::optional<std::uint64_t> peak{};        ///< The maximum use of device memory on any device, in bytes.
  std::optional<std::uint64_t> reserved{};    ///< The maximum reserved memory on any device, in bytes.
  std::optional<std::uint64_t> growth{};      ///< The maximum growth in bytes per step: see `step_summary::growth`.
  bool no_leaks = false;                      ///< True if no finding may report a likely leak.
  std::optional<double> pageable{};           ///< The maximum share (0..1) of copied bytes whose host memory is
                                              ///< pageable.
  std::optional<double> idle{};               ///< The maximum share (0..1) of the active time in which a device was
                                              ///< idle.
  std::optional<trace::severity> findings{};  ///< No finding may have this severity or a higher one.

  /// True if any limit is set.
  [[nodiscard]] bool any() const;
};

/// A measured value of one device or process.
struct measured_part {
  std::string name;  ///< The device or process, such as "GPU 0".
  double value = 0;
};

/// A line or module, with the bytes that it held or copied in the baseline and now.
struct changed_part {
  std::string name;  ///< The line, such as "train.py:20, forward", or the module, such as "GPT2MLP.forward".
  double before = 0;
  double after = 0;
};

/// A condition and its outcome.
struct condition {
  std::string name;  ///< The command-line option that sets the condition, such as "max-peak".
  quantity kind = quantity::bytes;
  double limit = 0;
  std::optional<double> measured;  ///< The highest value among devices or processes; nothing if unknown.
  std::optional<double> baseline;  ///< The baseline's value; nothing if the condition does not compare with a baseline.
  verdict status = verdict::unknown;
  /// Describes the metric, such as "framework layer, device memory of GPU 0".
  std::string about;
  /// Where to look first, such as the line that holds the most bytes. May be empty.
  std::string where;
  std::string reason;                       ///< Why the verdict is unknown; otherwise empty.
  std::optional<symbols::frame_line> line;  ///< The line that `where` names, if any.
  std::vector<measured_part> parts;         ///< The measured values, by device or process.
  std::vector<changed_part> lines;          ///< The lines that grew since the baseline, largest growth first.
  std::vector<changed_part> modules;        ///< The modules that grew since the baseline, largest growth first.
};

/// The recording to check.
struct check_subject {
  const report& whole;
  const trace::tables& tables;
  /// Returns the program line that caused an event, such as an allocation. If the function is empty, lines are not
  /// looked up.
  std::function<std::optional<symbols::frame_line>(trace::event_id)> get_line{};
};

/// The layer and kind by which device memory is checked. The layer is the framework layer if it was used, else the pool
/// layer, else the driver layer. The kind is device memory if that layer used it, else physical or array memory.
struct judged_memory {
  trace::layer layer = trace::layer::driver;
  trace::memory_kind kind = trace::memory_kind::device;
};
[[nodiscard]] std::optional<judged_memory> most_telling_memory(const report& subject);

/// Selects a memory metric: the maximum over the range, or the value just before the end of the range.
enum class memory_moment : std::uint8_t { highest, at_end };

/// Returns the bytes that programs had obtained from the driver on a device. The result is the higher of two values.
/// The first is the sum of the use of each kind of driver-layer memory and of the reserved bytes of each driver pool;
/// their maxima need not coincide. The second is the reserved bytes of another pool. O(memory + pools).
[[nodiscard]] std::uint64_t reserved_bytes(const range_statistics& statistics, trace::device_id device,
                                           const trace::tables& tables, memory_moment at = memory_moment::highest);

/// Returns the number of bytes copied between host and devices.
[[nodiscard]] double copied_bytes(const report& subject);

/// Checks the report against `limits`. The conditions are in the order of the members of `check_limits`. O(size of the
/// report).
[[nodiscard]] std::vector<condition> check(const check_subject& subject, const check_limits& limits);

/// Returns `not_met` if any condition is not met, else `unknown` if any is unknown, else `met`.
[[nodiscard]] verdict overall_verdict(std::span<const condition> conditions);

/// Returns why this recording's memory metrics cannot be checked, because events were lost or the recording is
/// incomplete. Empty if they can be checked.
[[nodiscard]] std::string memory_doubt(const report& subject);

/// Sets the verdict of a condition that has a measured value. The verdict is `not_met` if the value exceeds the limit.
/// Otherwise, it is `met`, or `unknown` if `doubt` is not empty.
void judge(condition& subject, const std::string& doubt);

}  // namespace sluice::metrics
