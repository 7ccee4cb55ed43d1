#include "app/cli/options/range_option.hpp"

#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>

namespace sluice::cli {
namespace {

/// Parses a time with its unit; nullopt if the text is invalid.
std::optional<time_ns> parse_time(std::string_view text) {
  double number = 0;
  const auto [rest, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc{}) return std::nullopt;
  const std::string_view unit(rest, static_cast<std::size_t>(text.data() + text.size() - rest));
  double scale = 0;
  if (unit.empty() || unit == "s") scale = 1e9;
  if (unit == "ms") scale = 1e6;
  if (unit == "us") scale = 1e3;
  if (unit == "ns") scale = 1;
  const double ns = number * scale;
  if (scale == 0 || !std::isfinite(ns) || std::abs(ns) > static_cast<double>(latest_time)) return std::nullopt;
  return static_cast<time_ns>(std::llround(ns));
}

}  // namespace

result<time_range> parse_range(const std::string& text, time_range whole) {
  const auto colon = text.find(':');
  const std::string_view content = text;
  if (colon == std::string::npos) {
    return fail(error_code::invalid_argument, "invalid range '" + text + "'", "--range",
                "expected FROM:TO, such as 1.5s:2s or 200ms:");
  }
  time_range range = whole;
  const std::string_view source = content.substr(0, colon);
  const std::string_view to = content.substr(colon + 1);
  for (const auto& [part, into] : {std::pair{source, &range.begin}, std::pair{to, &range.end}}) {
    if (part.empty()) continue;
    const auto time = parse_time(part);
    if (!time) {
      return fail(error_code::invalid_argument, "invalid time '" + std::string(part) + "'", "--range",
                  "expected a number with ns, us, ms or s, such as 1.5s");
    }
    *into = *time;
  }
  if (range.end <= range.begin) {
    return fail(error_code::invalid_argument, "empty range '" + text + "'", "--range",
                "the end must be after the start");
  }
  return range;
}

}  // namespace sluice::cli
