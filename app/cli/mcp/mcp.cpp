// sluice mcp: answers an assistant's questions about recordings, by the Model Context Protocol on standard input and
// output.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <string>

#include "app/cli/mcp/server.hpp"
#include "app/cli/mcp/tools.hpp"
#include "app/cli/verbs.hpp"

namespace sluice::cli {
namespace {

/// Lines of standard input. A line longer than `mcp::longest_line` is cut, so that it cannot take all memory; what is
/// left of it is no JSON, which is what its sender is told.
class input_lines {
 public:
  /// False at the end of input.
  bool next(std::string& line) {
    line.clear();
    for (;;) {
      const auto end = waiting_.find('\n');
      const std::size_t length = end == std::string::npos ? waiting_.size() : end;
      if (line.size() < mcp::longest_line) line.append(waiting_, 0, std::min(length, mcp::longest_line - line.size()));
      waiting_.erase(0, end == std::string::npos ? length : end + 1);
      if (end != std::string::npos) return true;
      if (!read_more()) return !line.empty();
    }
  }

 private:
  bool read_more() {
    char bytes[65536];
    for (;;) {
      const ssize_t count = ::read(STDIN_FILENO, bytes, sizeof bytes);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return false;
      waiting_.append(bytes, static_cast<std::size_t>(count));
      return true;
    }
  }

  std::string waiting_;
};

int serve() {
  mcp::server server(mcp::all_tools());
  input_lines lines;
  for (std::string line; lines.next(line);) {
    auto answer = server.answer(line);
    if (!answer) continue;
    *answer += '\n';
    if (std::fwrite(answer->data(), 1, answer->size(), stdout) != answer->size() || std::fflush(stdout) != 0) {
      complain("mcp: the output was closed or is full");
      return status_failed;
    }
  }
  return 0;
}

}  // namespace

action declare_mcp(CLI::App& command) {
  command.footer(
      "Reads one JSON-RPC message a line and answers in the same way, until the input ends. In a client's settings:\n"
      "  {\"command\": \"sluice\", \"args\": [\"mcp\"]}");
  return serve;
}

}  // namespace sluice::cli
