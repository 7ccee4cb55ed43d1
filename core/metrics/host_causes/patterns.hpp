#pragma once

#include <cctype>
#include <cstddef>
#include <string_view>

/// Patterns of the rules: names in which '*' stands for any characters. Alternatives are separated by '|'.
namespace sluice::metrics {

/// True if `text` matches one pattern without alternatives. O(text * stars), without recursion.
[[nodiscard]] constexpr bool matches_pattern(std::string_view text, std::string_view pattern) {
  constexpr std::size_t none = std::string_view::npos;
  std::size_t t = 0, p = 0, star = none, resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != none) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

/// True if `text` matches one of the alternatives in `patterns`. False for empty patterns.
[[nodiscard]] constexpr bool matches_any(std::string_view text, std::string_view patterns) {
  while (!patterns.empty()) {
    const std::size_t bar = patterns.find('|');
    if (matches_pattern(text, patterns.substr(0, bar))) return true;
    if (bar == std::string_view::npos) return false;
    patterns.remove_prefix(bar + 1);
  }
  return false;
}

/// Returns a demangled C++ function's qualified name without result type, parameters and what follows them:
/// "at::native::(anonymous namespace)::add" for "void at::native::(anonymous namespace)::add(at::Tensor const&)". The
/// parameters must not take part in a match, because they name types of other libraries. Accepts any text.
/// O(length).
[[nodiscard]] constexpr std::string_view get_bare_name(std::string_view function) {
  constexpr std::string_view anonymous = "(anonymous namespace)", call = "operator()", operator_word = "operator";
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i < function.size(); ++i) {
    const std::string_view rest = function.substr(i);
    if (rest.starts_with(anonymous)) {
      i += anonymous.size() - 1;
    } else if (depth == 0 && rest.starts_with(call)) {
      i += call.size() - 1;
    } else if (function[i] == '<' || (function[i] == '(' && depth > 0)) {
      ++depth;
    } else if (function[i] == '>' || (function[i] == ')' && depth > 0)) {
      if (depth > 0) --depth;
    } else if (depth == 0 && function[i] == '(') {
      return function.substr(begin, i - begin);
    } else if (depth == 0 && function[i] == ' ' && !function.substr(0, i).ends_with(operator_word)) {
      begin = i + 1;
    }
  }
  return function.substr(begin);
}

}  // namespace sluice::metrics
