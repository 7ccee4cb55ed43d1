#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/cli/mcp/server.hpp"
#include "app/processes/probe.hpp"

/// One client on standard input and output.
namespace sluice::cli::mcp {

/// Reads lines, has a server answer them, and writes the answers. Each call of a tool runs in a child process: whatever a
/// question or a recording does to it, the next question is answered.
///
/// The child is a fork without exec, which is safe in a process of one thread only. So this process starts no threads and
/// opens no recordings: all of that happens in children. A child opens its recording for one call only. Nothing is kept
/// from call to call, so that the calls of one client cannot disturb one another.
class conversation final : processes::probe_watcher {
 public:
  explicit conversation(std::vector<tool> tools);

  /// Answers until the input ends. False if the output was closed or is full.
  [[nodiscard]] bool run();

 private:
  /// The next line of the input. A line longer than `longest_line` is cut, so that it cannot take all memory; the rest is
  /// not JSON, and its sender is told so. False at the end of input.
  [[nodiscard]] bool next(std::string& line);
  /// Takes what there is to read, or waits for it. False at the end of input.
  bool read_more();
  bool put(const std::optional<std::string>& answer);

  [[nodiscard]] std::optional<json> ask_child(const tool& asked, const json& arguments, const json& id);
  [[nodiscard]] int descriptor() const override;
  /// Reads on while a tool works.
  [[nodiscard]] bool gives_up() override;
  /// Looks at the lines that have arrived, and answers pings. True if a line cancels the request that a child works at.
  [[nodiscard]] bool look_ahead();

  server server_;
  std::string came_;  ///< What was read; handed out up to `at_`.
  std::size_t at_ = 0;
  std::size_t looked_ = 0;  ///< Of `came_`: where the first line begins that `look_ahead` has not seen.
  bool ended_ = false;      ///< The input has ended.
  bool written_ = true;     ///< The output took all so far.
  json working_at_;         ///< The id of the request that a child works at.
};

}  // namespace sluice::cli::mcp
