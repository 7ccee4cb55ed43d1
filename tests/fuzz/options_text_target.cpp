// Parses bytes as the times, subjects and search patterns that people and scripts write on command lines.
#include <string>

#include "app/cli/options/range_option.hpp"
#include "core/base/time/time_range.hpp"
#include "core/export/export.hpp"
#include "tests/fuzz/target.hpp"

namespace sluice::fuzz::options_text {
namespace {

void run(std::span<const std::uint8_t> input) {
  const std::string text(input.begin(), input.end());
  const time_range whole{-5, 2'000'000'000};
  if (const auto range = cli::parse_range(text, whole)) {
    const bool within = range->begin >= -latest_time && range->end <= latest_time;
    if (!within || range->end <= range->begin || range->length() <= 0) __builtin_trap();
  }
  if (const auto subject = exports::parse_subject(text); subject && subject->id == 0) __builtin_trap();
  (void)exports::find_format(text);
  (void)exports::format_of_file(text);
}

std::vector<bytes> seeds() {
  std::vector<bytes> items;
  for (const std::string_view text : {"1.5s:2s", "200ms:", ":0.5", "-1e-3us:9e18ns", "1:2:3", "stream:7",
                                      "process:18446744073709551615", "a.csv", "trace.json.gz"}) {
    items.emplace_back(text.begin(), text.end());
  }
  return items;
}

}  // namespace
}  // namespace sluice::fuzz::options_text

sluice::fuzz::target sluice::fuzz::options_text_target() {
  return {"options_text", options_text::run, options_text::seeds};
}
