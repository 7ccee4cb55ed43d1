// Reads bytes as the window's settings: the result is within bounds, and is the same after saving and reading it again.
#include "app/gui/shell/settings.hpp"

#include <sstream>

#include "tests/fuzz/target.hpp"

namespace sluice::fuzz::settings {
namespace {

gui::settings read(const std::string& text) {
  gui::settings settings("");
  std::istringstream lines(text);
  settings.read(lines);
  return settings;
}

std::string kept(const gui::settings& some) {
  std::ostringstream lines;
  some.write(lines);
  return lines.str();
}

void run(std::span<const std::uint8_t> input) {
  const gui::settings settings = read(std::string(input.begin(), input.end()));
  const bool sensible = settings.recent().size() <= gui::settings::recent_limit &&
                        settings.queries().size() <= gui::settings::query_limit && settings.text_scale >= 0.6F &&
                        settings.text_scale <= 3 && settings.width >= 320 && settings.width <= 16384 &&
                        settings.height >= 200 && settings.height <= 16384;
  const std::string text = kept(settings);
  if (!sensible || kept(read(text)) != text) __builtin_trap();
}

std::vector<bytes> seeds() {
  constexpr std::string_view text =
      "theme light\ntext 121\nmemory plain\nwidth 1000\nheight 700\nrecent /data/a file.sluice\n"
      "verdict 12345 1764500000123456789 71000 good GPU 91 % busy\n"
      "query SELECT 1\\nFROM \\\\n\n";
  constexpr std::string_view nonsense = "theme\ntext 9999999999999\nwidth -5\nheight 1e9\nrecent \nquery \\";
  return {bytes(text.begin(), text.end()), bytes(nonsense.begin(), nonsense.end())};
}

}  // namespace
}  // namespace sluice::fuzz::settings

sluice::fuzz::target sluice::fuzz::settings_target() { return {"settings", settings::run, settings::seeds}; }
