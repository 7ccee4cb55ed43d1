#pragma once

#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"

/// The server's side of the Model Context Protocol, revisions 2024-11-05 to 2025-06-18: JSON-RPC 2.0 messages in, answers
/// out. It offers tools and nothing else. It knows no recordings: see tools.hpp; and no processes: see conversation.hpp.
namespace sluice::cli::mcp {

using json = nlohmann::ordered_json;

/// A tool that a client can call.
struct tool {
  std::string name;
  std::string about;  ///< For the model that chooses among the tools.
  /// JSON schema of the arguments: an object whose `properties` have a `type` (string, integer, number or boolean), and
  /// perhaps an `enum`; and `required`.
  json input;
  /// Returns the content blocks of the answer: the data, and perhaps text of ours about it. The arguments fit `input`.
  /// Errors are shown to the model.
  std::function<result<json>(const json& arguments)> call;
  bool quotes_recordings = true;           ///< What it returns has texts that a recording or its maker chose.
  std::chrono::milliseconds most_time{0};  ///< Of a call in a child process; see conversation.hpp.
};

/// How tools are called: returns the `result` of a call (see answers.hpp), or nothing if the client has cancelled the
/// request `id`. What it throws is answered with an error.
using tool_caller = std::function<std::optional<json>(const tool& asked, const json& arguments, const json& id)>;

class server {
 public:
  /// `call`: by default, tools run in this process.
  explicit server(std::vector<tool> tools, tool_caller call = {});

  /// Answers one line: a message, or a batch of them. Nothing if there is nothing to answer (notifications, answers,
  /// cancelled requests). The result is one line without its end. Any bytes are accepted; never throws what a tool throws.
  [[nodiscard]] std::optional<std::string> answer(std::string_view line);

 private:
  [[nodiscard]] std::optional<json> answer_message(const json& message);
  [[nodiscard]] std::optional<json> answer_request(const json& id, const std::string& method, const json& parameters);
  [[nodiscard]] std::optional<json> call_tool(const json& id, const json& parameters);

  std::vector<tool> tools_;
  tool_caller call_;
};

/// The longest line that is read, in bytes. What is longer is answered with an error.
inline constexpr std::size_t longest_line = std::size_t{4} << 20;

}  // namespace sluice::cli::mcp
