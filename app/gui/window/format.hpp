#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/format.hpp"
#include "core/query/types/result_types.hpp"

/// Axis ticks and their labels. Other numbers are formatted by core/base/format.hpp, as in the report.
namespace sluice::gui::format {

/// A point in time with as many digits as `resolution` (ns) needs: "1.234 56 s", but without the inner spaces.
[[nodiscard]] std::string time_point(time_ns ns, time_ns resolution);
struct tick {
  double value = 0;
  std::string label;
};

/// The ticks of a time axis: at most `wanted`, at distances of 1, 2 or 5 times a power of ten.
struct time_axis {
  time_ns step = 1;      ///< Distance between labelled ticks.
  int subdivisions = 5;  ///< Number of unlabelled parts of each step.
  time_ns base = 0;      ///< The time to which labels are relative; 0 unless absolute labels would be too long.
  std::vector<std::pair<time_ns, std::string>> ticks;
};
[[nodiscard]] time_axis time_ticks(time_range visible, int wanted);

enum class value_unit : std::uint8_t { none, bytes, rate, nanoseconds, fraction };

/// A value axis from 0 to at least `maximum`, with two or three labelled lines at round values of the unit.
struct value_axis {
  double top = 1;
  std::vector<tick> ticks;  ///< The labelled lines, without that at zero.
};
[[nodiscard]] value_axis value_ticks(double maximum, value_unit unit, int wanted);
/// The labels of a logarithmic axis from `low` (positive) to `high`, about `wanted` of them: at powers of two for bytes,
/// otherwise at powers of ten and, if the axis is short, at 2 and 5 times these. At the ends if none is inside.
[[nodiscard]] std::vector<tick> log_ticks(double low, double high, value_unit unit, int wanted);
[[nodiscard]] std::string value(double amount, value_unit unit);
/// Formats a value without trailing zeros, because on an axis "2 GiB" is as good as "2.00 GiB".
[[nodiscard]] std::string axis_value(double amount, value_unit unit);

/// `text` with its first letter capitalized, as in legend labels.
[[nodiscard]] std::string capital(std::string text);

/// `text` with a hair space between two hyphens; otherwise the font would join the hyphens of "--steps" into one long
/// dash.
[[nodiscard]] std::string apart(std::string_view text);

/// Adapts a text that the window shares with the command line, such as a finding: replaces options by the corresponding
/// entries of the window, e.g. "record --mode timeline" by "record with Timeline".
[[nodiscard]] std::string in_window(std::string_view text);

/// `text` shortened to `width`, with an ellipsis in place of the omitted part. `measure` returns the width of a text.
/// If the text names a line of code, such as "nn/linear.py:114, forward", the file's name and the line number are kept
/// as long as they fit: folders are cut first, then the end of the text, then the start of the file's name.
[[nodiscard]] std::string fitted(std::string_view text, float width,
                                 const std::function<float(std::string_view)>& measure);

}  // namespace sluice::gui::format
