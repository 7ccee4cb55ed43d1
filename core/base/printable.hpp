#pragma once

#include <string>
#include <string_view>

/// Makes texts of recordings and file names safe to print on a terminal, and to give to an assistant.
namespace sluice {

enum class line_ends { escape, keep };

/// Returns `text` with all that could control or mislead a terminal escaped: control characters (C0, DEL, C1),
/// direction controls, invisible characters such as tags and variation selectors, invalid UTF-8. Bytes become \xNN, characters \u{NNNN}, line ends \n, tabs
/// \t. Backslashes are kept: the result cannot be converted back. `line_ends::keep` keeps the line ends of a long text.
[[nodiscard]] std::string printable(std::string_view text, line_ends ends = line_ends::escape);

/// The same characters of a JSON document, escaped as JSON does: \u202e, a pair above U+FFFF. So the document keeps
/// its meaning, and a reader of its bytes sees what its texts hide. Line ends are kept; invalid bytes become U+FFFD.
[[nodiscard]] std::string printable_json(std::string_view text);

/// The first line of a text that a stranger sent, printable and in at most `most_bytes` bytes (4 or more): "..." ends a
/// line that was cut. Empty if the text begins with a line end.
[[nodiscard]] std::string printable_line(std::string_view text, std::size_t most_bytes);

/// True if `printable` would return `text` unchanged. Does not allocate for plain ASCII.
[[nodiscard]] bool is_printable(std::string_view text);

}  // namespace sluice
