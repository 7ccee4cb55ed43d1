#pragma once

#include <string>

namespace sluice {

/// True if a formatted number has been rounded to zero: "0 %", "0.00 MiB".
[[nodiscard]] inline bool is_zero_text(const std::string& number) {
  return number.find_first_of("123456789") == std::string::npos;
}

/// Puts the sign of a difference before the text of its size: "+12 %", "-3.00 MiB". Puts no sign before a size that has
/// been rounded to zero, or that is only bounded ("<0.1 %"). All differences are shown through this function, so that
/// "-0 %" never appears.
[[nodiscard]] inline std::string with_sign(double difference, std::string size) {
  if (difference == 0 || is_zero_text(size) || size.starts_with('<')) return size;
  return (difference < 0 ? "-" : "+") + size;
}

}  // namespace sluice
