#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"

/// The server's side of the Model Context Protocol, revisions 2024-11-05 to 2025-06-18: JSON-RPC 2.0 messages in, answers
/// out. It offers tools and nothing else. It knows no recordings: see tools.hpp.
namespace sluice::cli::mcp {

using json = nlohmann::ordered_json;

/// A tool that a client can call.
struct tool {
  std::string name;
  std::string about;  ///< For the model that chooses among the tools.
  /// JSON schema of the arguments: an object whose `properties` have a `type` (string, integer, number or boolean), and
  /// perhaps an `enum`; and `required`.
  json input;
  /// Returns the content blocks of the answer. The arguments fit `input`. Errors are shown to the model.
  std::function<result<json>(const json& arguments)> call;
};

/// A content block of text.
[[nodiscard]] json text_block(std::string text);

class server {
 public:
  explicit server(std::vector<tool> tools) : tools_(std::move(tools)) {}

  /// Answers one line: a message, or a batch of them. Nothing if there is nothing to answer (notifications, answers).
  /// The result is one line without its end. Any bytes are accepted; never throws what a tool throws.
  [[nodiscard]] std::optional<std::string> answer(std::string_view line);

 private:
  [[nodiscard]] std::optional<json> answer_message(const json& message);
  [[nodiscard]] json answer_request(const json& id, const std::string& method, const json& parameters);
  [[nodiscard]] json call_tool(const json& id, const json& parameters);

  std::vector<tool> tools_;
};

/// The longest line that is read, in bytes. What is longer is answered with an error.
inline constexpr std::size_t longest_line = std::size_t{4} << 20;

}  // namespace sluice::cli::mcp
