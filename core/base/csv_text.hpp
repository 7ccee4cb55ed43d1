#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <string_view>

/// Cells of CSV files, as RFC 4180 has them.
namespace sluice {

/// Whether a spreadsheet would take `text` for a formula: it begins, perhaps after blanks, with = + - or @, also in full width. A number may
/// begin so.
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

/// Appends `text`, between quotes where it has commas, quotes or ends of lines. What a spreadsheet would run as a formula gets an
/// apostrophe in front, which spreadsheets take for the mark of a text (OWASP, "CSV injection").
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
