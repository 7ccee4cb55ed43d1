#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string_view>

/// Numbers on the command line: all of a word has to be one, and a sensible one. A word that is none (nan, -1, 1e400, 0x, 5 apples) is
/// refused in one line that says what is expected. CLI11's own conversions let some of these pass.
namespace sluice::cli {

/// All of `text` as a finite number, not negative; nothing if it is none.
[[nodiscard]] std::optional<double> parse_number(std::string_view text);
/// All of `text` as a whole number in decimal digits; nothing if it is none, or too large.
[[nodiscard]] std::optional<std::uint64_t> parse_whole(std::string_view text);
/// All of `text` as bytes: a whole number, then b, kb, kib, k, ... eib or nothing, in any case. `thousands`: kb and k are 1000, else 1024.
[[nodiscard]] std::optional<std::uint64_t> parse_bytes(std::string_view text, bool thousands);

/// Checks of options, for CLI::Option::check.
[[nodiscard]] CLI::Validator number_between(double least, double most);
[[nodiscard]] CLI::Validator whole_between(std::uint64_t least, std::uint64_t most);
/// For CLI::Option::transform: the option gets the number of bytes.
[[nodiscard]] CLI::Validator bytes_between(std::uint64_t least, std::uint64_t most, bool thousands);

}  // namespace sluice::cli
