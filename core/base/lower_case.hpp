#pragma once

#include <string>
#include <string_view>

namespace sluice {

/// Returns `text` with its ASCII letters in lower case, whatever the locale. O(n).
[[nodiscard]] inline std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
  return lower;
}

}  // namespace sluice
