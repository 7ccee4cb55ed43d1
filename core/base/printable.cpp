#include "core/base/printable.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "core/base/utf8.hpp"

namespace sluice {
namespace {

std::uint32_t code_point(std::string_view sequence) {
  const auto first = static_cast<unsigned char>(sequence[0]);
  if (sequence.size() == 1) return first;
  std::uint32_t value = first & (0xffU >> (sequence.size() + 1));
  for (const char c : sequence.substr(1)) value = value << 6 | (static_cast<unsigned char>(c) & 0x3fU);
  return value;
}

/// Invisible characters that can deceive: they change the direction of text, end lines, or hide.
bool is_hidden(std::uint32_t c) {
  return (c >= 0x80 && c <= 0x9f) || c == 0xad || c == 0x61c || (c >= 0x200b && c <= 0x200f) ||
         (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) || c == 0xfeff || (c >= 0xe0000 && c <= 0xe007f);
}

}  // namespace

std::string printable(std::string_view text, line_ends ends) {
  std::string made;
  made.reserve(text.size());
  const auto put = std::back_inserter(made);
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const std::string_view one = text.substr(0, length == 0 ? 1 : length);
    const std::uint32_t c = length == 0 ? static_cast<unsigned char>(one[0]) : code_point(one);
    if (c == '\n' && ends == line_ends::escape) {
      made += "\\n";
    } else if (c == '\t') {
      made += "\\t";
    } else if (length == 0 || (c < 0x20 && c != '\n') || c == 0x7f) {
      fmt::format_to(put, "\\x{:02x}", c);
    } else if (is_hidden(c)) {
      fmt::format_to(put, "\\u{{{:04x}}}", c);
    } else {
      made += one;
    }
    text.remove_prefix(one.size());
  }
  return made;
}

bool is_printable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7f; }) || printable(text) == text;
}

}  // namespace sluice
