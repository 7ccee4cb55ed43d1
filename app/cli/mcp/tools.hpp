#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

#include "app/cli/mcp/server.hpp"

/// The tools of `sluice mcp`: what the verbs of the same names print, in small pieces. They open recordings and write
/// nothing. To add one: a function that calls what the verb calls, and an entry in `all_tools`.
namespace sluice::cli::mcp {

/// What a call of a client may take.
struct tool_limits {
  std::chrono::milliseconds query_time{60'000};
  std::chrono::milliseconds call_time{300'000};  ///< Of the other tools.
  /// The longest text that a query can make. SQLite cannot be interrupted within a function, and the work of some grows
  /// with the product of two lengths. At this one the slowest, trim, takes 4 s.
  std::size_t value_bytes = std::size_t{128} << 10;
  std::size_t sql_memory_bytes = std::size_t{512} << 20;
  std::size_t scratch_bytes = std::size_t{1} << 30;
};

/// All tools but the picture, in the order in which they are listed.
[[nodiscard]] std::vector<tool> all_tools(const tool_limits& limits = {});

inline constexpr std::size_t most_rows = 200;  ///< Of a list in an answer.

}  // namespace sluice::cli::mcp
