#pragma once

#include <string>
#include <string_view>

/// Makes texts from recordings and file names safe to print on a terminal and to pass to an AI assistant.
namespace sluice {

enum class line_ends { escape, keep };

/// Returns `text` with everything escaped that could control or mislead a terminal: control characters (C0, DEL, C1),
/// direction controls, invisible characters such as tags and variation selectors, and invalid UTF-8. Bytes become \xNN,
/// characters \u{NNNN}, line ends \n, tabs \t. Backslashes are not escaped, so the original text cannot be recovered.
/// With `line_ends::keep`, line ends are kept, for texts of several lines.
[[nodiscard]] std::string printable(std::string_view text, line_ends ends = line_ends::escape);

/// Escapes the same characters in a JSON document as `printable`, but in the way of JSON: \u202e, a surrogate pair
/// above U+FFFF. The document keeps its meaning, and hidden characters become visible. Keeps line ends. Invalid bytes
/// become U+FFFD.
[[nodiscard]] std::string printable_json(std::string_view text);

/// Returns the first line of an untrusted text, made printable and cut to at most `max_bytes` bytes (4 or more). A line
/// that was cut ends with "...". Empty if the text starts with a line end.
[[nodiscard]] std::string printable_line(std::string_view text, std::size_t max_bytes);

/// True if `printable` would return `text` unchanged. Does not allocate memory for plain ASCII.
[[nodiscard]] bool is_printable(std::string_view text);

}  // namespace sluice
