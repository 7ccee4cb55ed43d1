#pragma once

#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"

/// The server side of the Model Context Protocol, revisions 2024-11-05 to 2025-06-18: takes JSON-RPC 2.0 requests and
/// returns responses. Offers only tools. Depends on neither recordings (see tools.hpp) nor processes (see
/// conversation.hpp).
namespace sluice::cli::mcp {

using json = nlohmann::ordered_json;

/// A tool that a client can call.
struct tool {
  std::string name;
  std::string about;  ///< Description, from which the model chooses a tool.
  /// JSON schema of the arguments: an object with `required`, and with `properties`, each of which has a `type`
  /// (string, integer, number or boolean) and optionally an `enum`.
  json input;
  /// Returns the content blocks of the result: the data, and optionally explanatory text. The arguments conform to
  /// `input`. Errors are shown to the model.
  std::function<result<json>(const json& arguments)> call;
  bool quotes_recordings = true;          ///< The result contains text that a recording or its author chose.
  std::chrono::milliseconds max_time{0};  ///< Time limit for a call in a child process; see conversation.hpp.
};

/// Calls a tool: returns the `result` of the call (see results.hpp), or null if the client cancelled the request `id`.
/// An exception becomes an error response.
using tool_caller = std::function<std::optional<json>(const tool& asked, const json& arguments, const json& id)>;

class server {
 public:
  /// `call`: runs the tools; if empty, they run in this process.
  explicit server(std::vector<tool> tools, tool_caller call = {});

  /// Responds to one line: a message, or a batch of messages. Returns null if no response is due (notifications,
  /// responses, cancelled requests). The result is one line without a newline. Accepts any bytes; never rethrows a
  /// tool's exceptions.
  [[nodiscard]] std::optional<std::string> respond(std::string_view line);

 private:
  [[nodiscard]] std::optional<json> result_message(const json& message);
  [[nodiscard]] std::optional<json> result_request(const json& id, const std::string& method, const json& parameters);
  [[nodiscard]] std::optional<json> call_tool(const json& id, const json& parameters);

  std::vector<tool> tools_;
  tool_caller call_;
};

/// The longest accepted line, in bytes. Longer lines get an error response.
inline constexpr std::size_t longest_line = std::size_t{4} << 20;

}  // namespace sluice::cli::mcp
