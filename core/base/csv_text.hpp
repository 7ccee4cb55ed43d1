#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <string_view>

/// Cells of CSV files (RFC 4180).
namespace sluice {

/// True if a spreadsheet would read `text` as a formula: after optional leading whitespace it starts with =, +, - or @
/// (ASCII or full-width), and it is not a plain number.
[[nodiscard]] inline bool reads_as_formula(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return false;
  const std::string_view rest = text.substr(first);
  constexpr std::array<std::string_view, 8> beginnings = {"=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20"};
  if (std::none_of(beginnings.begin(), beginnings.end(), [&](auto each) { return rest.starts_with(each); }))
    return false;
  double number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  return read.ec != std::errc() || read.ptr != text.data() + text.size();
}

/// Appends `text` as one CSV cell, quoted if it contains a comma, quote or line break. Text that a spreadsheet would
/// run as a formula gets a leading apostrophe, which marks it as plain text (OWASP, "CSV injection").
inline void append_csv(std::string& to, std::string_view text) {
  const bool formula = reads_as_formula(text);
  if (!formula && text.find_first_of(",\"\r\n") == std::string_view::npos) {
    to += text;
    return;
  }
  to += '"';
  if (formula) to += '\'';
  for (const char c : text) {
    if (c == '"') to += '"';
    to += c;
  }
  to += '"';
}

}  // namespace sluice
