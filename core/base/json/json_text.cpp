#include "core/base/json/json_text.hpp"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <optional>

namespace sluice {
namespace {

struct fault {
  std::string what;
  std::uint64_t offset = error::no_offset;
};

/// The end quote of the string that begins at `at`; the end of the text if it has none.
std::size_t end_of_string(std::string_view text, std::size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at)
    if (text[at] == '\\') ++at;
  return at;
}

/// Where the text goes beyond a limit. Does not check the syntax: as far as that is right, it counts what a parser sees.
std::optional<fault> beyond_limits(std::string_view text) {
  std::array<std::size_t, most_json_levels + 1> members{};  // Of the object that is open at each level.
  std::size_t level = 0, values = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    switch (text[at]) {
      case '"':
        at = end_of_string(text, at);
        break;
      case '{':
      case '[':
        if (level == most_json_levels)
          return fault{fmt::format("it is nested deeper than {} levels", most_json_levels), at};
        members[++level] = 0;
        ++values;
        break;
      case '}':
      case ']':
        if (level > 0) --level;
        break;
      case ':':
        if (++members[level] > most_json_members)
          return fault{fmt::format("an object has more than {} members", most_json_members), at};
        break;
      case ',':
        ++values;
        break;
      default:
        break;
    }
    if (values > most_json_values) return fault{fmt::format("it has more than {} values", most_json_values), at};
  }
  return std::nullopt;
}

}  // namespace

result<nlohmann::ordered_json> parse_json(std::string_view text, const std::string& file) {
  const auto refused = [&](const fault& why) { return fail(error_code::corrupt, why.what, file, {}, why.offset); };
  if (const auto beyond = beyond_limits(text)) return refused(*beyond);
  try {
    return nlohmann::ordered_json::parse(text);
  } catch (const nlohmann::json::parse_error& wrong) {
    return refused({"it is not JSON", wrong.byte == 0 ? 0 : wrong.byte - 1});  // It counts from 1.
  } catch (const nlohmann::json::exception&) {
    return refused({"a number is too large for JSON"});
  }
}

}  // namespace sluice
