#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/format.hpp"
#include "core/query/answers/answer_types.hpp"

/// Axis ticks and their labels. Other numbers use core/base/format.hpp, as in the report.
namespace sluice::gui::format {

/// A point in time with the digits that `resolution` (ns) needs: "1.234 56 s", but without the inner spaces.
[[nodiscard]] std::string time_point(query::time_ns ns, query::time_ns resolution);
struct tick {
  double value = 0;
  std::string label;
};

/// Ticks of a time axis: at most `wanted`, at 1, 2 or 5 times a power of ten.
struct time_axis {
  query::time_ns step = 1;  ///< Distance of labelled ticks.
  int subdivisions = 5;     ///< Unlabelled parts of each step.
  query::time_ns base = 0;  ///< Labels are relative to this time; 0 unless they would be too long.
  std::vector<std::pair<query::time_ns, std::string>> ticks;
};
[[nodiscard]] time_axis time_ticks(query::time_range visible, int wanted);

enum class value_unit : std::uint8_t { none, bytes, rate, nanoseconds, fraction };

/// A value axis from 0 to at least `maximum`, with two or three labelled lines at round values of the unit.
struct value_axis {
  double top = 1;
  std::vector<tick> ticks;  ///< Without the zero line.
};
[[nodiscard]] value_axis value_ticks(double maximum, value_unit unit, int wanted);
[[nodiscard]] std::string value(double amount, value_unit unit);
/// The same without trailing zeros: on an axis, "2 GiB" is as good as "2.00 GiB".
[[nodiscard]] std::string axis_value(double amount, value_unit unit);

/// `text` with a capital at its start, as labels of legends have it.
[[nodiscard]] std::string capital(std::string text);

/// `text` with a hair space between two hyphens; otherwise the font joins those of "--steps" to one long dash.
[[nodiscard]] std::string apart(std::string_view text);

/// A text that the command line says too, as of a finding, with the window's entries in place of options: "record with
/// Timeline" for "record --mode timeline".
[[nodiscard]] std::string in_window(std::string_view text);

/// `text` cut to `width`, as `measure` gives the width of a text. An ellipsis stands for what is left out. Of a text that
/// names a line of code, as "nn/linear.py:114, forward", the file's name and the line's number are kept as long as they
/// fit: folders go first, then the end of the text, then the begin of the file's name.
[[nodiscard]] std::string fitted(std::string_view text, float width,
                                 const std::function<float(std::string_view)>& measure);

}  // namespace sluice::gui::format
