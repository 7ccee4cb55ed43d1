#include "app/cli/options/number_option.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cctype>
#include <charconv>
#include <cmath>
#include <string>

#include "core/base/format.hpp"

namespace sluice::cli {
namespace {

template <class Number>
std::optional<Number> parse_all(std::string_view text) {
  Number value{};
  const char* const end = text.data() + text.size();
  const auto [rest, problem] = std::from_chars(text.data(), end, value);
  return problem == std::errc{} && rest == end ? std::optional(value) : std::nullopt;
}

/// The number of bytes in one `unit`; nullopt for an unknown unit.
std::optional<std::uint64_t> bytes_of_unit(std::string_view unit, bool thousands) {
  std::string name;
  for (const char c : unit) name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (name.empty() || name == "b") return 1;
  const std::size_t power = std::string_view("kmgtpe").find(name[0]);
  const std::string_view rest = std::string_view(name).substr(1);
  if (power == std::string_view::npos) return std::nullopt;
  const bool binary = rest == "i" || rest == "ib";
  if (!binary && !rest.empty() && rest != "b") return std::nullopt;
  std::uint64_t bytes = 1;
  for (std::size_t i = 0; i <= power; ++i) bytes *= thousands && !binary ? 1000 : 1024;
  return bytes;
}

/// Makes a validator. `read` returns the option's value for a word, or nullopt if the word is invalid.
template <class Read>
CLI::Validator validator(std::string expected, Read read) {
  return CLI::Validator(
      [expected = std::move(expected), read](std::string& word) {
        const std::optional<std::string> value = read(word);
        if (!value) return fmt::format("invalid value '{}'; expected {}", word, expected);
        word = *value;
        return std::string();
      },
      "");
}

}  // namespace

std::optional<double> parse_number(std::string_view text) {
  const auto value = parse_all<double>(text);
  return value && std::isfinite(*value) && !std::signbit(*value) ? value : std::nullopt;
}

std::optional<std::uint64_t> parse_whole(std::string_view text) { return parse_all<std::uint64_t>(text); }

std::optional<std::uint64_t> parse_bytes(std::string_view text, bool thousands) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto count = parse_whole(text.substr(0, digits));
  text.remove_prefix(digits);
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  const auto unit = bytes_of_unit(text, thousands);
  std::uint64_t bytes = 0;
  if (!count || !unit || __builtin_mul_overflow(*count, *unit, &bytes)) return std::nullopt;
  return bytes;
}

CLI::Validator number_between(double least, double most) {
  return validator(fmt::format("a number from {} to {}", least, most),
                   [=](const std::string& word) -> std::optional<std::string> {
                     const auto value = parse_number(word);
                     return value && *value >= least && *value <= most ? std::optional(word) : std::nullopt;
                   });
}

CLI::Validator whole_between(std::uint64_t least, std::uint64_t most) {
  return validator(fmt::format("a whole number from {} to {}", least, most),
                   [=](const std::string& word) -> std::optional<std::string> {
                     const auto value = parse_whole(word);
                     return value && *value >= least && *value <= most ? std::optional(word) : std::nullopt;
                   });
}

CLI::Validator bytes_between(std::uint64_t least, std::uint64_t most, bool thousands) {
  return validator(fmt::format("a size such as 64MiB, from {} to {}", format_bytes(least), format_bytes(most)),
                   [=](const std::string& word) -> std::optional<std::string> {
                     const auto value = parse_bytes(word, thousands);
                     if (!value || *value < least || *value > most) return std::nullopt;
                     return std::to_string(*value);
                   });
}

}  // namespace sluice::cli
