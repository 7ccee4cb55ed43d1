#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

#include "app/cli/mcp/server.hpp"

/// The tools of `sluice mcp`: each returns the output of the verb of the same name, in small pieces. Tools open
/// recordings and write nothing. To add a tool, write a function that calls what the verb calls, and add it to
/// `all_tools`.
namespace sluice::cli::mcp {

/// Limits of one tool call.
struct tool_limits {
  std::chrono::milliseconds query_time{60'000};
  std::chrono::milliseconds call_time{300'000};  ///< For the tools other than `query`.
  /// The longest text that a query can create. SQLite cannot be interrupted within a function, and the time of some
  /// functions grows with the product of two lengths. At this limit the slowest function, trim, takes 4 s.
  std::size_t value_bytes = std::size_t{128} << 10;
  std::size_t sql_memory_bytes = std::size_t{512} << 20;
  std::size_t scratch_bytes = std::size_t{1} << 30;
};

/// All tools except `screenshot`, in listing order.
[[nodiscard]] std::vector<tool> all_tools(const tool_limits& limits = {});

inline constexpr std::size_t max_rows = 200;  ///< Limit on each list in a result.

}  // namespace sluice::cli::mcp
