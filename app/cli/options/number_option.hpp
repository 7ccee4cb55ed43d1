#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace CLI {
class Validator;
}

/// Strict parsing of numbers on the command line. The whole word must be a valid number; otherwise (nan, -1, 1e400, 0x,
/// 5 apples) a one-line error states what is expected. CLI11's own conversions accept some of these words.
namespace sluice::cli {

/// Parses `text` as a finite, non-negative number; nullopt if `text` is anything else.
[[nodiscard]] std::optional<double> parse_number(std::string_view text);
/// Parses `text` as a whole decimal number; nullopt if `text` is anything else, or the number is too large.
[[nodiscard]] std::optional<std::uint64_t> parse_whole(std::string_view text);
/// Parses a whole number of bytes with an optional unit (b, k, kb, kib ... eib). `thousands`: kb means 1000 bytes
/// rather than 1024.
[[nodiscard]] std::optional<std::uint64_t> parse_bytes(std::string_view text, bool thousands);

/// Range checks to pass to CLI::Option::check.
[[nodiscard]] CLI::Validator number_between(double least, double most);
[[nodiscard]] CLI::Validator whole_between(std::uint64_t least, std::uint64_t most);
/// To pass to CLI::Option::transform: replaces the option's value by the number of bytes.
[[nodiscard]] CLI::Validator bytes_between(std::uint64_t least, std::uint64_t most, bool thousands);

}  // namespace sluice::cli
