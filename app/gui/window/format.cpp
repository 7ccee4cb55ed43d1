#include "app/gui/window/format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <optional>

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

/// The smallest value that is at least `least` and is 1, 2 or 5 times a power of ten.
double round_step(double least) {
  const double power = std::pow(10.0, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (power * factor >= least * (1 - 1e-9)) return power * factor;
  return power * 10;
}

/// The distance of ticks on an axis of bytes. If the labels extend to the next larger unit, only powers of two are
/// round in both units.
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

std::string time_point(time_ns ns, time_ns resolution) {
  if (ns == trace::unknown_time) return "unknown";
  const double size = std::fabs(static_cast<double>(ns));
  const time_unit& unit = unit_for(std::max(size, 1.0));
  const double digits = std::log10(unit.ns / static_cast<double>(std::max<time_ns>(resolution, 1)));
  return fmt::format("{:.{}f} {}", static_cast<double>(ns) / unit.ns,
                     std::clamp(static_cast<int>(std::ceil(digits)), 0, 9), unit.name);
}

time_axis time_ticks(time_range visible, int wanted) {
  time_axis axis;
  if (visible.length() <= 0) return axis;
  const double least = static_cast<double>(visible.length()) / std::max(wanted, 1);
  axis.step = std::max<time_ns>(1, std::llround(round_step(std::max(least, 1.0))));
  const double lead =
      static_cast<double>(axis.step) / std::pow(10.0, std::floor(std::log10(static_cast<double>(axis.step)) + 1e-9));
  axis.subdivisions = lead > 1.5 && lead < 3 ? 4 : 5;
  if (axis.step < 5) axis.subdivisions = 1;

  const time_ns farthest = std::max(std::llabs(visible.begin), std::llabs(visible.end));
  // The largest unit in which at most three decimals are needed: "2.2 ms", not "2200 us".
  const time_unit* unit = &unit_for(static_cast<double>(farthest));
  while (unit->ns > 1 && static_cast<double>(axis.step) < unit->ns / 1000 * 0.999) ++unit;
  const auto unit_ns = static_cast<time_ns>(unit->ns);
  // Because "1234567.8 us" is hard to read, count from a nearby round time, which is shown at the axis.
  if (farthest / unit_ns >= 100000) {
    const time_ns coarse = unit_ns * 1000;
    axis.base = visible.begin / coarse * coarse;
    if (axis.base > visible.begin) axis.base -= coarse;
  }
  const auto floor_div = [](time_ns a, time_ns b) { return a / b - (a % b < 0 ? 1 : 0); };
  const time_ns first = floor_div(visible.begin, axis.step) * axis.step;
  for (time_ns at = first; at <= visible.end; at += axis.step) {
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
      return format_time(static_cast<time_ns>(amount));
    case value_unit::fraction:
      return format_share(amount);
    case value_unit::none:
      break;
  }
  return std::fabs(amount) >= 1e6 ? fmt::format("{:.3g}", amount) : plain(amount);
}

std::string axis_value(double amount, value_unit unit) {
  if (unit == value_unit::none && amount >= 1000 && amount < 1e6 && amount == std::floor(amount))
    return format_count(static_cast<std::uint64_t>(amount));
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

namespace {

constexpr std::string_view ellipsis = "\xE2\x80\xA6";

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80; }

/// The position of a line of code in a text, in bytes from the start of the text.
struct named_line {
  std::size_t path = 0;    ///< Start of "nn/linear.py:114".
  std::size_t file = 0;    ///< Start of "linear.py:114".
  std::size_t number = 0;  ///< Start of ":114".
  std::size_t end = 0;
};

std::optional<named_line> line_in(std::string_view text) {
  for (std::size_t colon = text.find(':'); colon != std::string_view::npos; colon = text.find(':', colon + 1)) {
    named_line line{0, 0, colon, colon + 1};
    while (line.end < text.size() && is_digit(text[line.end])) ++line.end;
    const std::size_t before = text.substr(0, colon).find_last_of(" \t,(");
    line.path = before == std::string_view::npos ? 0 : before + 1;
    const std::string_view path = text.substr(line.path, colon - line.path);
    const std::size_t folder = path.find_last_of("/\\");
    line.file = folder == std::string_view::npos ? line.path : line.path + folder + 1;
    // A file name has an extension; a time of day, a port and a part of "at::native" do not.
    const bool is_file =
        path.substr(line.file - line.path).find_first_not_of("0123456789.") != std::string_view::npos &&
        path.find('.') != std::string_view::npos;
    if (line.end > colon + 1 && is_file) return line;
  }
  return std::nullopt;
}

/// The longest text that fits among those that `make` creates from the numbers 0 to `most`; none if even the text for 0
/// does not fit.
std::optional<std::string> longest(std::size_t most, const std::function<std::string(std::size_t)>& make,
                                   const std::function<bool(std::string_view)>& fits) {
  if (!fits(make(0))) return std::nullopt;
  std::size_t least = 0;
  while (least < most) {
    const std::size_t middle = least + (most - least + 1) / 2;
    if (fits(make(middle))) {
      least = middle;
    } else {
      most = middle - 1;
    }
  }
  return make(least);
}

}  // namespace

std::string fitted(std::string_view text, float width, const std::function<float(std::string_view)>& measure) {
  const auto fits = [&](std::string_view subject) { return measure(subject) <= width; };
  if (fits(text)) return std::string(text);
  const auto read_head = [](std::string_view name, std::size_t bytes) {
    while (bytes > 0 && bytes < name.size() && continues_character(name[bytes])) --bytes;
    return std::string(name.substr(0, bytes));
  };
  if (const auto line = line_in(text)) {
    const std::string_view before = text.substr(0, line->path);
    const std::string start = std::string(before) + std::string(text.substr(line->file, line->end - line->file));
    const std::string_view rest = text.substr(line->end);
    if (fits(start + std::string(rest))) return start + std::string(rest);
    const std::string_view mark = rest.empty() ? std::string_view{} : ellipsis;
    const auto cut_end = longest(
        rest.size(), [&](std::size_t bytes) { return start + read_head(rest, bytes).append(mark); }, fits);
    if (cut_end) return *cut_end;
    if (fits(start)) return start;
    const std::string_view file = text.substr(line->file, line->number - line->file);
    const std::string number(text.substr(line->number, line->end - line->number));
    const auto cut_name = longest(
        file.size(),
        [&](std::size_t bytes) {
          std::size_t begin = file.size() - bytes;
          while (begin < file.size() && continues_character(file[begin])) ++begin;
          return std::string(before).append(ellipsis).append(file.substr(begin)) + number;
        },
        fits);
    if (cut_name) return *cut_name;
  }
  const auto cut = longest(
      text.size(), [&](std::size_t bytes) { return read_head(text, bytes).append(ellipsis); }, fits);
  return cut ? *cut : std::string();
}

std::string in_window(std::string_view text) {
  // Longer texts come first, because they contain shorter ones. The replacements are the entries of File, Record a
  // program; see shell/programs/record_dialog.cpp.
  constexpr std::array<std::pair<std::string_view, std::string_view>, 9> words = {
      {{"use --mode timeline", "record with \"Timeline\" (File, Record a program)"},
       {"--sources-from FOLDER, or File, Add source folder, in the window", "File, Add source folder"},
       {"--sources-from", "File, Add source folder"},
       {"record --mode timeline", "record with \"Timeline\""},
       {"--mode timeline", "\"Timeline\""},
       {"record --mode all", "record with \"Everything\""},
       {"--mode all", "\"Everything\""},
       {"record --find-duplicates", "record with \"Detect duplicate copies\""},
       {"--find-duplicates", "\"Detect duplicate copies\""}}};
  std::string line;
  while (!text.empty()) {
    const auto found =
        std::find_if(words.begin(), words.end(), [&](const auto& each) { return text.starts_with(each.first); });
    line += found == words.end() ? text.substr(0, 1) : found->second;
    text.remove_prefix(found == words.end() ? 1 : found->first.size());
  }
  return apart(line);
}

std::string apart(std::string_view text) {
  std::string line;
  line.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i > 0 && text[i] == '-' && text[i - 1] == '-') line += "\xE2\x80\x8A";
    line += text[i];
  }
  return line;
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

std::vector<tick> log_ticks(double low, double high, value_unit unit, int wanted) {
  std::vector<tick> ticks;
  const auto add = [&](double at) {
    if (at >= low * (1 - 1e-9) && at <= high * (1 + 1e-9)) ticks.push_back({at, axis_value(at, unit)});
  };
  const bool binary = unit == value_unit::bytes;
  const double base = binary ? 2 : 10;
  const double powers = std::log(high / low) / std::log(base);
  int stride = 1;
  for (const int each : {1, 2, 3, 5, 10, 20}) {
    stride = each;
    if (powers / each <= std::max(wanted, 1)) break;
  }
  const int first = static_cast<int>(std::floor(std::log(low) / std::log(base) + 1e-9));
  const int last = static_cast<int>(std::ceil(std::log(high) / std::log(base) - 1e-9));
  const bool fine = !binary && powers * 3 <= std::max(wanted, 4);
  for (int power = first; power <= last; ++power) {
    if (power % stride != 0) continue;
    add(std::pow(base, power));
    if (fine) add(2 * std::pow(base, power)), add(5 * std::pow(base, power));
  }
  if (ticks.empty()) add(low), add(high);
  return ticks;
}

}  // namespace sluice::gui::format
