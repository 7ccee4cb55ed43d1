#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/cli/mcp/server.hpp"
#include "app/processes/probe.hpp"

/// A conversation with one client over standard input and output.
namespace sluice::cli::mcp {

/// Reads lines, passes them to a server, and writes the responses. Each tool call runs in a child process, so that a
/// call that crashes or hangs does not affect later calls.
///
/// The child is a fork without exec, which is safe only in a single-threaded process. Therefore this process starts no
/// threads and opens no recordings; only children do. A child opens its recording for one call, and nothing is kept
/// between calls, so that calls cannot disturb one another.
class conversation final : output_watcher {
 public:
  explicit conversation(std::vector<tool> tools);

  /// Responds to requests until the input ends. Returns false if the output is closed or full.
  [[nodiscard]] bool run();

 private:
  /// Reads the next line of the input. To limit memory, a line longer than `longest_line` is cut; the rest is not valid
  /// JSON, so the sender gets an error. Returns false at the end of input.
  [[nodiscard]] bool next(std::string& line);
  /// Reads the available input, or waits for input. Returns false at the end of input.
  bool read_more();
  bool put(const std::optional<std::string>& result);

  [[nodiscard]] std::optional<json> ask_child(const tool& asked, const json& arguments, const json& id);
  [[nodiscard]] int descriptor() const override;
  /// Continues to read input while a tool runs. Returns true if the client cancelled the call.
  [[nodiscard]] bool gives_up() override;
  /// Examines the lines that have arrived, and responds to pings. Returns true if a line cancels the running request.
  [[nodiscard]] bool look_ahead();

  server server_;
  std::string came_;  ///< Input read so far, of which the first `at_` bytes have been consumed.
  std::size_t at_ = 0;
  std::size_t looked_ = 0;  ///< Position in `came_`: start of the first line that `look_ahead` has not examined.
  bool ended_ = false;      ///< The input has ended.
  bool written_ = true;     ///< All output so far has been written.
  json working_at_;         ///< Id of the request that is running in a child.
};

}  // namespace sluice::cli::mcp
