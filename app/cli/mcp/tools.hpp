#pragma once

#include <cstddef>
#include <vector>

#include "app/cli/mcp/server.hpp"

/// The tools of `sluice mcp`: what the verbs of the same names print, in small pieces. They open recordings and write
/// nothing. To add one: a function that calls what the verb calls, and an entry in `all_tools`.
namespace sluice::cli::mcp {

/// All tools of this build, in the order in which they are listed.
[[nodiscard]] std::vector<tool> all_tools();

inline constexpr std::size_t most_rows = 200;                     ///< Of a list in an answer.
inline constexpr std::size_t most_bytes = std::size_t{20} << 10;  ///< Of the text of an answer.

/// Returns `value` as text of at most `most_bytes`. If it is longer, its lists are cut, all to the same length. `cut`
/// then says how much is left out; else it is empty. O(size * log(most_rows)).
[[nodiscard]] std::string small_text(const json& value, std::string& cut);

}  // namespace sluice::cli::mcp
