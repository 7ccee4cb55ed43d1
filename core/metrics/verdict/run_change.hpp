#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/time/time_range.hpp"

/// What changed from one run to another: a sentence, the numbers behind it and the findings, made from the verdicts and
/// findings of both reports. `sluice diff` and the window show the same words. Times are in ns.
namespace sluice::metrics {

struct report;

/// Whether a change is welcome.
enum class change_trend : std::uint8_t {
  same,
  better,
  worse,
  open  ///< It differs, but whether that is good is unknown.
};

/// Returns the trend as one word for JSON: "same", "better", "worse" or "open". These words are public.
[[nodiscard]] std::string_view get_word(change_trend trend);

/// A part of the sentence of numbers: `lead` followed by `value`, such as "a step 56.1 ms -> " and "21.5 ms".
struct change_part {
  std::string lead;
  std::string value;
  change_trend trend = change_trend::same;
};

/// A number of the change, to show on its own, such as "-62 %" and "a step".
struct change_number {
  std::string value;
  std::string label;
  change_trend trend = change_trend::same;
};

/// The change. Every number is one of the two reports', or a quotient of those, as stated here.
struct run_change {
  /// The change in one sentence without a final period, such as "2.6x faster: the GPU no longer waits for the data
  /// loader", "No difference" or "Different commands: demo overlap, demo leak". Names a cause only if it explains at
  /// least half of the change.
  std::string headline;
  /// "a step 56.1 ms -> 21.5 ms", "idle 39.8 ms -> 5.20 ms", "peak the same (1.94 GiB)", "1 finding gone, 0 new". Says
  /// what is unknown on either side.
  std::vector<change_part> parts;
  std::vector<change_number> numbers;  ///< Without what is unknown on either side.
  bool by_step = false;                ///< True if the times below are those of a step, because both sides have steps.
  bool same_command = true;            ///< False if the command lines of both sides start different programs.
  /// The median step (`run_verdict::step`) or else the active time (`range_statistics::active`). 0 if neither is known.
  time_ns time_before = 0, time_after = 0;
  bool idle_known = false;  ///< True if both sides have kernel times.
  /// Idle time after start-up (`run_verdict::get_idle`), as a mean over devices; divided by the number of steps if
  /// `by_step`.
  time_ns idle_before = 0, idle_after = 0;
  /// Indices of the major findings that only one side has: in `report::findings` of that side.
  std::vector<std::size_t> gone, fresh;
  /// Indices of the findings that both sides have and that are major on one of them: first those in `before`, second
  /// those in `after`.
  std::vector<std::pair<std::size_t, std::size_t>> kept;

  /// Times and peaks that differ by at most this share are called the same, because runs differ by about as much.
  static constexpr double same = 0.02;
};

/// Returns `run_change::parts` in one line, separated by semicolons.
[[nodiscard]] std::string describe_parts(const run_change& change);

/// Compares two reports, whose verdicts are complete. Findings are the same if they have the same kind, function and
/// file; lines may move. A finding that remains as a smaller one is gone only if it saves less than half of what it did.
/// A pure function. O(findings of both sides, multiplied).
[[nodiscard]] run_change compare_runs(const report& before, const report& after);

/// Returns the command line of the program that was recorded: that of the first process with one. Empty if unknown.
[[nodiscard]] std::string_view get_command(const report& subject);

/// Returns what `command` runs, without folders, interpreters, options and plain numbers: "train.py" for "python3 -u
/// train.py 4 --workers 0", "sluice demo overlap" for "/opt/sluice demo overlap --device cuda". Two command lines with
/// the same program are runs of one program with other settings.
[[nodiscard]] std::string get_program(std::string_view command);

}  // namespace sluice::metrics
