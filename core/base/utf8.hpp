#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sluice {

/// Returns the length of the UTF-8 sequence at the start of `text`, which must not be empty; 0 if the sequence is
/// invalid.
[[nodiscard]] inline std::size_t utf8_length(std::string_view text) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = at(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xf0 && first <= 0xf4 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 0;
  if (length == 0 || first > 0xf4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((at(i) & 0xc0U) != 0x80) return 0;
  // Reject overlong forms, surrogates and code points above U+10FFFF.
  const unsigned char second = at(1);
  if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) || (first == 0xf0 && second < 0x90) ||
      (first == 0xf4 && second > 0x8f))
    return 0;
  return length;
}

/// Returns the position of the first byte that is not valid UTF-8; npos if `text` is valid.
[[nodiscard]] inline std::size_t first_not_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(text.substr(at));
    if (length == 0) return at;
    at += length;
  }
  return std::string_view::npos;
}

/// Returns `text` with each invalid byte replaced by U+FFFD.
[[nodiscard]] inline std::string mended_utf8(std::string_view text) {
  std::string line;
  while (!text.empty()) {
    const std::size_t bad = first_not_utf8(text);
    line += text.substr(0, bad);
    if (bad == std::string_view::npos) break;
    line += "\xef\xbf\xbd";
    text.remove_prefix(bad + 1);
  }
  return line;
}

}  // namespace sluice
