#include "app/cli/mcp/results.hpp"

#include <exception>
#include <utility>

#include "core/base/printable.hpp"

namespace sluice::cli::mcp {
namespace {

/// Cuts `text` to `max_bytes` at the boundary of a character. Returns true if the text was cut.
bool cut(std::string& text) {
  if (text.size() <= max_bytes) return false;
  std::size_t end = max_bytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80U) --end;
  text.resize(end);
  return true;
}

json result_with(const tool& asked, json blocks, bool failed) {
  json content = json::array();
  if (asked.quotes_recordings) content.push_back(text_block(data_mark));
  for (json& block : blocks) {
    bool shortened = false;
    if (block.at("type") == "text") {
      std::string text = printable_json(block.at("text").get_ref<const std::string&>());
      shortened = cut(text);
      block = text_block(std::move(text));
    }
    content.push_back(std::move(block));
    if (shortened) content.push_back(text_block("Truncated to 20 KB. Narrow the request."));
  }
  return {{"content", std::move(content)}, {"isError", failed}};
}

}  // namespace

json text_block(std::string text) { return {{"type", "text"}, {"text", std::move(text)}}; }

json answer_tool_call(const tool& asked, const json& arguments) {
  try {
    auto content = asked.call(arguments);
    if (!content) return result_with(asked, json::array({text_block(content.error().to_string())}), true);
    return result_with(asked, std::move(*content), false);
  } catch (const std::exception& surprise) {
    return failed_call(asked, surprise.what());
  }
}

json failed_call(const tool& asked, const std::string& message) {
  return result_with(asked, json::array({text_block(asked.name + ": " + message)}), true);
}

}  // namespace sluice::cli::mcp
