#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/format.hpp"
#include "core/query/answers/answer_types.hpp"

/// Axes, and numbers beside them; single figures are core/base/format.hpp's, as in the report.
namespace sluice::gui::format {

/// A point in time with as many digits as `resolution` (ns) needs: "1.234 56 s" without the spaces.
[[nodiscard]] std::string time_point(query::time_ns ns, query::time_ns resolution);
struct tick {
  double value = 0;
  std::string label;
};

/// Where to put marks on a time axis, `wanted` or fewer of them, at 1, 2 or 5 times a power of ten.
struct time_axis {
  query::time_ns step = 1;  ///< Between two labelled ticks.
  int subdivisions = 5;     ///< Unlabelled marks in each step.
  query::time_ns base = 0;  ///< What the labels count from; not 0 when they would get too long.
  std::vector<std::pair<query::time_ns, std::string>> ticks;
};
[[nodiscard]] time_axis time_ticks(query::time_range visible, int wanted);

enum class value_unit : std::uint8_t { none, bytes, rate, nanoseconds, fraction };

/// A value axis from 0 to at least `maximum`, with two or three labelled lines that are round in the unit.
struct value_axis {
  double top = 1;
  std::vector<tick> ticks;  ///< Without the zero line.
};
[[nodiscard]] value_axis value_ticks(double maximum, value_unit unit, int wanted);
[[nodiscard]] std::string value(double amount, value_unit unit);

/// `text` with a hair between two hyphens: the typeface joins those of "--steps" to one long dash.
[[nodiscard]] std::string apart(std::string_view text);

}  // namespace sluice::gui::format
