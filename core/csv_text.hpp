#pragma once

#include <string>
#include <string_view>

/// Cells of CSV files, as RFC 4180 has them.
namespace sluice {

/// Appends `text`, between quotes where it has commas, quotes or ends of lines.
inline void append_csv(std::string& to, std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) {
    to += text;
    return;
  }
  to += '"';
  for (const char c : text) {
    if (c == '"') to += '"';
    to += c;
  }
  to += '"';
}

}  // namespace sluice
