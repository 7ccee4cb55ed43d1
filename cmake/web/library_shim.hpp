#pragma once

// What C++20 has and the standard library of Debian's Emscripten 3.1.6 lacks; read before each file of a web build.
#ifdef __cplusplus
#include <charconv>
#include <cstdlib>
#include <string>
#include <system_error>
#include <type_traits>

namespace std {

template <class To, class From>
constexpr To bit_cast(const From& from) noexcept {
  return __builtin_bit_cast(To, from);
}

/// The plain form alone: decimal digits, a point, an exponent. The locale of the program is "C".
inline from_chars_result from_chars(const char* first, const char* last, double& value) {
  if (first == last || *first == '+' || *first == ' ' || (*first >= '\t' && *first <= '\r'))
    return {first, errc::invalid_argument};
  const string text(first, last);
  char* end = nullptr;
  const double read = strtod(text.c_str(), &end);
  if (end == text.c_str()) return {first, errc::invalid_argument};
  value = read;
  return {first + (end - text.c_str()), errc{}};
}
inline from_chars_result from_chars(const char* first, const char* last, float& value) {
  double wide = 0;
  const from_chars_result read = from_chars(first, last, wide);
  if (read.ec == errc{}) value = static_cast<float>(wide);
  return read;
}

}  // namespace std
#endif
