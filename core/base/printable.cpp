#include "core/base/printable.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <optional>

#include "core/base/format.hpp"
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

struct hidden_range {
  std::uint32_t first, last;
};

/// Invisible characters that can deceive a reader. They control the terminal, change the direction of text, end lines,
/// or hide text that a program still reads. These are C1, the two line separators, the annotations, and all characters
/// that are Default_Ignorable_Code_Point in Unicode 16.
constexpr auto hidden_characters = std::to_array<hidden_range>({{0x80, 0x9f},
                                                                {0xad, 0xad},
                                                                {0x34f, 0x34f},
                                                                {0x61c, 0x61c},
                                                                {0x115f, 0x1160},
                                                                {0x17b4, 0x17b5},
                                                                {0x180b, 0x180f},
                                                                {0x200b, 0x200f},
                                                                {0x2028, 0x202e},
                                                                {0x2060, 0x206f},
                                                                {0x3164, 0x3164},
                                                                {0xfe00, 0xfe0f},
                                                                {0xfeff, 0xfeff},
                                                                {0xffa0, 0xffa0},
                                                                {0xfff0, 0xfffb},
                                                                {0x1bca0, 0x1bca3},
                                                                {0x1d173, 0x1d17a},
                                                                {0xe0000, 0xe0fff}});

bool is_hidden(std::uint32_t c) {
  return std::any_of(hidden_characters.begin(), hidden_characters.end(),
                     [&](const hidden_range& each) { return c >= each.first && c <= each.last; });
}

/// Calls `put(character, its bytes)` for each character of `text`; for an invalid byte, there is no character.
template <class Put>
void for_each_character(std::string_view text, Put put) {
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const std::string_view one = text.substr(0, length == 0 ? 1 : length);
    put(length == 0 ? std::nullopt : std::optional(code_point(one)), one);
    text.remove_prefix(one.size());
  }
}

}  // namespace

std::string printable(std::string_view text, line_ends ends) {
  std::string line;
  line.reserve(text.size());
  const auto put = std::back_inserter(line);
  for_each_character(text, [&](std::optional<std::uint32_t> c, std::string_view one) {
    if (c == '\n' && ends == line_ends::escape) {
      line += "\\n";
    } else if (c == '\t') {
      line += "\\t";
    } else if (!c || (c < 0x20 && c != '\n') || c == 0x7f) {
      fmt::format_to(put, "\\x{:02x}", static_cast<unsigned char>(one[0]));
    } else if (is_hidden(*c)) {
      fmt::format_to(put, "\\u{{{:04x}}}", *c);
    } else {
      line += one;
    }
  });
  return line;
}

std::string printable_json(std::string_view text) {
  std::string line;
  line.reserve(text.size());
  const auto put = std::back_inserter(line);
  for_each_character(text, [&](std::optional<std::uint32_t> c, std::string_view one) {
    constexpr std::uint32_t first_of_pairs = 0x10000;
    if (!c) {
      line += "\ufffd";
    } else if (c != '\n' && (c < 0x20 || c == 0x7f || (c < first_of_pairs && is_hidden(*c)))) {
      fmt::format_to(put, "\\u{:04x}", *c);
    } else if (is_hidden(*c)) {
      const std::uint32_t rest = *c - first_of_pairs;
      fmt::format_to(put, "\\u{:04x}\\u{:04x}", 0xd800 | rest >> 10, 0xdc00 | (rest & 0x3ff));
    } else {
      line += one;
    }
  });
  return line;
}

std::string printable_line(std::string_view text, std::size_t max_bytes) {
  text = text.substr(0, text.find_first_of("\r\n"));
  // Escaping only makes the text longer, so bytes beyond this limit would be cut anyway.
  return shortened(printable(text.substr(0, max_bytes + 1)), max_bytes);
}

bool is_printable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7f; }) || printable(text) == text;
}

}  // namespace sluice
