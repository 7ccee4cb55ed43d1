#include "app/gui/window/format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdlib>

namespace sluice::gui::format {
namespace {

constexpr const char* micro = "\xC2\xB5s";

struct time_unit {
  double ns;
  const char* name;
};
constexpr std::array<time_unit, 4> time_units = {{{1e9, "s"}, {1e6, "ms"}, {1e3, micro}, {1, "ns"}}};

const time_unit& unit_for(double ns) {
  for (const time_unit& unit : time_units)
    if (ns >= unit.ns * 0.9995) return unit;
  return time_units.back();
}

/// The smallest of 1, 2 or 5 times a power of ten that is at least `least`.
double round_step(double least) {
  const double power = std::pow(10.0, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (power * factor >= least * (1 - 1e-9)) return power * factor;
  return power * 10;
}

/// The step of an axis of bytes. Where labels reach the next unit, only powers of two stay round in both units.
double round_bytes(double least, double maximum) {
  const double power = std::exp2(10.0 * std::floor(std::log2(std::max(least, 1.0)) / 10.0));
  const double mantissa = least / power;
  if (maximum >= 1024 * power) return std::exp2(std::ceil(std::log2(mantissa) - 1e-9)) * power;
  for (const double nice :
       {1.0, 2.0, 4.0, 5.0, 8.0, 10.0, 16.0, 20.0, 32.0, 50.0, 64.0, 100.0, 128.0, 200.0, 256.0, 512.0})
    if (nice >= mantissa * (1 - 1e-9)) return nice * power;
  return 1024 * power;
}

std::string plain(double number) {
  std::string text = fmt::format("{:.3f}", number);
  text.erase(text.find_last_not_of('0') + 1);
  if (!text.empty() && text.back() == '.') text.pop_back();
  return text;
}

}  // namespace

std::string time_point(query::time_ns ns, query::time_ns resolution) {
  if (ns == trace::unknown_time) return "unknown";
  const double size = std::fabs(static_cast<double>(ns));
  const time_unit& unit = unit_for(std::max(size, 1.0));
  const double digits = std::log10(unit.ns / static_cast<double>(std::max<query::time_ns>(resolution, 1)));
  return fmt::format("{:.{}f} {}", static_cast<double>(ns) / unit.ns,
                     std::clamp(static_cast<int>(std::ceil(digits)), 0, 9), unit.name);
}

time_axis time_ticks(query::time_range visible, int wanted) {
  time_axis axis;
  if (visible.length() <= 0) return axis;
  const double least = static_cast<double>(visible.length()) / std::max(wanted, 1);
  axis.step = std::max<query::time_ns>(1, std::llround(round_step(std::max(least, 1.0))));
  const double lead =
      static_cast<double>(axis.step) / std::pow(10.0, std::floor(std::log10(static_cast<double>(axis.step)) + 1e-9));
  axis.subdivisions = lead > 1.5 && lead < 3 ? 4 : 5;
  if (axis.step < 5) axis.subdivisions = 1;

  const query::time_ns farthest = std::max(std::llabs(visible.begin), std::llabs(visible.end));
  // The largest unit that needs at most three decimals: "2.2 ms", not "2200 us".
  const time_unit* unit = &unit_for(static_cast<double>(farthest));
  while (unit->ns > 1 && static_cast<double>(axis.step) < unit->ns / 1000 * 0.999) ++unit;
  const auto unit_ns = static_cast<query::time_ns>(unit->ns);
  // "1234567.8 us" is hard to read: count from a nearby round time instead, which is shown at the axis.
  if (farthest / unit_ns >= 100000) {
    const query::time_ns coarse = unit_ns * 1000;
    axis.base = visible.begin / coarse * coarse;
    if (axis.base > visible.begin) axis.base -= coarse;
  }
  const auto floor_div = [](query::time_ns a, query::time_ns b) { return a / b - (a % b < 0 ? 1 : 0); };
  const query::time_ns first = floor_div(visible.begin, axis.step) * axis.step;
  for (query::time_ns at = first; at <= visible.end; at += axis.step) {
    const double number = static_cast<double>(at - axis.base) / unit->ns;
    axis.ticks.emplace_back(at, fmt::format("{}{} {}", axis.base != 0 ? "+" : "", plain(number), unit->name));
    if (axis.ticks.size() > 200) break;
  }
  return axis;
}

std::string value(double amount, value_unit unit) {
  switch (unit) {
    case value_unit::bytes:
      return format_bytes(amount);
    case value_unit::rate:
      return format_rate(amount);
    case value_unit::nanoseconds:
      return format_time(static_cast<query::time_ns>(amount));
    case value_unit::fraction:
      return format_share(amount);
    case value_unit::none:
      break;
  }
  return std::fabs(amount) >= 1e6 ? fmt::format("{:.3g}", amount) : plain(amount);
}

std::string axis_value(double amount, value_unit unit) {
  std::string label = value(amount, unit);
  const auto dot = label.find('.');
  if (dot == std::string::npos) return label;
  const auto end = std::min(label.find(' '), label.size());
  auto last = label.find_last_not_of('0', end - 1);
  if (last == dot) --last;
  label.erase(last + 1, end - last - 1);
  return label;
}

std::string capital(std::string text) {
  if (!text.empty()) text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text;
}

std::string apart(std::string_view text) {
  std::string made;
  made.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i > 0 && text[i] == '-' && text[i - 1] == '-') made += "\xE2\x80\x8A";
    made += text[i];
  }
  return made;
}

value_axis value_ticks(double maximum, value_unit unit, int wanted) {
  value_axis axis;
  if (!(maximum > 0) || !std::isfinite(maximum)) maximum = unit == value_unit::bytes ? 1024 : 1;
  const double least = maximum / std::max(wanted, 1);
  const double step = unit == value_unit::bytes ? round_bytes(least, maximum) : round_step(least);
  axis.top = maximum;
  for (int i = 1; i * step <= axis.top && i < 12; ++i) {
    axis.ticks.push_back({i * step, axis_value(i * step, unit)});
  }
  return axis;
}

}  // namespace sluice::gui::format
