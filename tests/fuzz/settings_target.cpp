// Reads bytes as the window's settings: the result is within bounds, and is the same after saving and reading it again.
#include "app/gui/shell/settings.hpp"

#include <sstream>

#include "tests/fuzz/target.hpp"

namespace sluice::fuzz::settings {
namespace {

gui::settings read(const std::string& text) {
  gui::settings made("");
  std::istringstream lines(text);
  made.read(lines);
  return made;
}

std::string kept(const gui::settings& some) {
  std::ostringstream lines;
  some.write(lines);
  return lines.str();
}

void run(std::span<const std::uint8_t> input) {
  const gui::settings made = read(std::string(input.begin(), input.end()));
  const bool sensible = made.recent().size() <= gui::settings::recent_limit &&
                        made.queries().size() <= gui::settings::query_limit && made.text_scale >= 0.6F &&
                        made.text_scale <= 3 && made.width >= 320 && made.width <= 16384 && made.height >= 200 &&
                        made.height <= 16384;
  const std::string text = kept(made);
  if (!sensible || kept(read(text)) != text) __builtin_trap();
}

std::vector<bytes> seeds() {
  constexpr std::string_view all =
      "theme light\ntext 121\nmemory plain\nwidth 1000\nheight 700\nrecent /data/a file.sluice\n"
      "query SELECT 1\\nFROM \\\\n\n";
  constexpr std::string_view nonsense = "theme\ntext 9999999999999\nwidth -5\nheight 1e9\nrecent \nquery \\";
  return {bytes(all.begin(), all.end()), bytes(nonsense.begin(), nonsense.end())};
}

}  // namespace
}  // namespace sluice::fuzz::settings

sluice::fuzz::target sluice::fuzz::settings_target() { return {"settings", settings::run, settings::seeds}; }
