// sluice mcp: gives an AI assistant access to recordings, over the Model Context Protocol on standard input and output.
#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "app/cli/mcp/conversation.hpp"
#include "app/cli/mcp/picture_tool.hpp"
#include "app/cli/mcp/tools.hpp"
#include "app/cli/options/number_option.hpp"
#include "app/cli/options/verbs.hpp"

namespace sluice::cli {
namespace {

int result_client(std::optional<double> timeout) {
  mcp::tool_limits limits;
  if (timeout)
    limits.query_time = limits.call_time =
        std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::duration<double>(*timeout));
  auto tools = mcp::all_tools(limits);
  if (auto picture = mcp::picture_tool()) {
    picture->max_time = limits.call_time;
    tools.push_back(std::move(*picture));
  }
  if (mcp::conversation(std::move(tools)).run()) return 0;
  complain("mcp: the output was closed or is full");
  return status_failed;
}

}  // namespace

action declare_mcp(CLI::App& command) {
  auto timeout = std::make_shared<std::optional<double>>();
  command
      .add_option("--timeout", *timeout,
                  "Stop a call after this many seconds (default: 60 for query, 300 for other tools)")
      ->check(number_between(0.001, 86'400))
      ->type_name("SECONDS");
  command.footer(
      "Reads one JSON-RPC message per line and responds in the same way, until the input ends. Client settings:\n"
      "  {\"command\": \"sluice\", \"args\": [\"mcp\"]}");
  return [timeout] { return result_client(*timeout); };
}

}  // namespace sluice::cli
