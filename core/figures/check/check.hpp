#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/figures/report.hpp"

/// Judges a recording by limits, as a test does: pure functions from a report and limits to verdicts. All figures are
/// those of the report; nothing is computed anew. `sluice check` prints the verdicts.
namespace sluice::analysis {

enum class verdict : std::uint8_t {
  met,
  not_met,
  unknown  ///< The recording does not hold the figure, or does not hold it exactly.
};

/// "met", "not met", "unknown".
[[nodiscard]] std::string_view name_of(verdict is);

/// What a limit and a measured value count.
enum class quantity : std::uint8_t {
  bytes,
  bytes_per_step,
  share,  ///< 0..1
  time,   ///< ns
  count
};

/// A value as text: "1.50 GiB", "1.00 MiB a step", "12 %", "3.10 ms", "4".
[[nodiscard]] std::string format_quantity(double value, quantity what);

/// The limits that a recording must keep. Those that are not set are not judged.
struct check_limits {
  std::optional<std::uint64_t> peak{};        ///< Bytes: the highest use of device memory on any device.
  std::optional<std::uint64_t> reserved{};    ///< Bytes: the most that was reserved on any device.
  std::optional<std::uint64_t> growth{};      ///< Bytes a step: `step_summary::growth`.
  bool no_leaks = false;                      ///< No finding that calls itself a likely leak.
  std::optional<double> pageable{};           ///< 0..1: part of the bytes copied from or to pageable host memory.
  std::optional<double> idle{};               ///< 0..1: part of the active time in which a device did no work.
  std::optional<trace::severity> findings{};  ///< No finding of this severity or above.

  /// True if any limit is set.
  [[nodiscard]] bool any() const;
};

/// A measured value of one device or process.
struct measured_part {
  std::string of;  ///< "GPU 0".
  double value = 0;
};

/// A line or module with what it held, or copied, in the baseline and now. In bytes.
struct changed_part {
  std::string of;  ///< "train.py:20, forward"; of a module "GPT2MLP.forward".
  double before = 0;
  double after = 0;
};

/// One condition and what became of it.
struct condition {
  std::string name;  ///< "max-peak": the option that asks for it.
  quantity what = quantity::bytes;
  double limit = 0;
  std::optional<double> measured;  ///< The highest, of several devices or processes. Nothing: not known.
  std::optional<double> baseline;  ///< The value of the baseline, if the condition compares with one.
  verdict is = verdict::unknown;
  std::string about;                        ///< Which figure it is: "framework layer, device memory of GPU 0".
  std::string where;                        ///< What to look at first: the line that holds most. May be empty.
  std::string reason;                       ///< Why the verdict is unknown; else empty.
  std::optional<symbols::frame_line> line;  ///< The line in `where`, if there is one.
  std::vector<measured_part> parts;         ///< By device or process.
  std::vector<changed_part> lines;          ///< What grew since the baseline, by line, most first.
  std::vector<changed_part> modules;        ///< The same by module.
};

struct check_subject {
  const report& of;
  const trace::tables& tables;
  /// The line of the program that made an event, such as an allocation; empty function: not looked up.
  std::function<std::optional<symbols::frame_line>(trace::event_id)> line_of{};
};

/// The layer and kind by which memory on devices is judged: of the framework layer, or else the pool layer, or else the
/// driver layer; of device memory, or else of physical or array memory. Nothing if no such memory was used.
struct judged_memory {
  trace::layer layer = trace::layer::driver;
  trace::memory_kind kind = trace::memory_kind::device;
};
[[nodiscard]] std::optional<judged_memory> most_telling_memory(const report& of);

/// Which figure of memory is meant: the highest of the range, or that just before its end.
enum class memory_moment : std::uint8_t { highest, at_end };

/// The bytes that programs had got from the driver on a device: the use of each kind of memory of the driver layer, and
/// what each pool of the driver reserved, added up (the highest need not have been at one time); or what another pool
/// reserved, if that is more. O(memory + pools).
[[nodiscard]] std::uint64_t reserved_bytes(const range_statistics& of, trace::device_id device,
                                           const trace::tables& tables, memory_moment at = memory_moment::highest);

/// The bytes copied between host and devices.
[[nodiscard]] double copied_bytes(const report& of);

/// Judges the report by `limits`, in the order of the members of `check_limits`. O(size of the report).
[[nodiscard]] std::vector<condition> check(const check_subject& subject, const check_limits& limits);

/// `not_met` if one condition is not met; else `unknown` if one is unknown; else `met`.
[[nodiscard]] verdict verdict_of(std::span<const condition> conditions);

/// Why memory figures of this recording cannot be judged: events were lost, or it is not complete. Empty: they can.
[[nodiscard]] std::string memory_doubt(const report& of);

/// Sets `is` of a condition whose value is measured: not met above the limit; else met, or unknown with `doubt`.
void judge(condition& of, const std::string& doubt);

}  // namespace sluice::analysis
