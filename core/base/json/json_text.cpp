#include "core/base/json/json_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/base/utf8.hpp"

namespace sluice {
namespace {

struct fault {
  std::string reason;
  std::uint64_t offset = error::no_offset;
};

/// Returns the position of the closing quote of the string that starts at `at`; the end of the text if there is none.
std::size_t end_of_string(std::string_view text, std::size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at)
    if (text[at] == '\\') ++at;
  return at;
}

/// Returns where the text exceeds a limit. Does not check the syntax. Up to the first syntax error, the function counts
/// the same values as a parser.
std::optional<fault> beyond_limits(std::string_view text) {
  std::array<std::size_t, max_json_levels + 1> members{};  // Number of members of the open object at each level.
  std::size_t level = 0, values = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    switch (text[at]) {
      case '"':
        at = end_of_string(text, at);
        break;
      case '{':
      case '[':
        if (level == max_json_levels)
          return fault{fmt::format("it is nested deeper than {} levels", max_json_levels), at};
        members[++level] = 0;
        ++values;
        break;
      case '}':
      case ']':
        if (level > 0) --level;
        break;
      case ':':
        if (++members[level] > max_json_members)
          return fault{fmt::format("an object has more than {} members", max_json_members), at};
        break;
      case ',':
        ++values;
        break;
      default:
        break;
    }
    if (values > max_json_values) return fault{fmt::format("it has more than {} values", max_json_values), at};
  }
  return std::nullopt;
}

}  // namespace

result<nlohmann::ordered_json> parse_json(std::string_view text, const std::string& file) {
  const auto refused = [&](const fault& why) { return fail(error_code::corrupt, why.reason, file, {}, why.offset); };
  if (const auto beyond = beyond_limits(text)) return refused(*beyond);
  try {
    return nlohmann::ordered_json::parse(text);
  } catch (const nlohmann::json::parse_error& wrong) {
    return refused({"it is not JSON", wrong.byte == 0 ? 0 : wrong.byte - 1});  // The parser counts bytes from 1.
  } catch (const nlohmann::json::exception&) {
    return refused({"a number is too large for JSON"});
  }
}

std::string json_document(const nlohmann::ordered_json& value) {
  return value.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string json_line(const nlohmann::ordered_json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void append_json_string(std::string& to, std::string_view text) {
  to += '"';
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const char c = text.front();
    if (length == 0) {
      to += "\ufffd";
    } else if (c == '"' || c == '\\') {
      to += '\\';
      to += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      fmt::format_to(std::back_inserter(to), "\\u{:04x}", static_cast<unsigned>(c));
    } else {
      to += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  to += '"';
}

}  // namespace sluice
