#pragma once

#include <string>
#include <string_view>

/// Texts of recordings and names of files as a terminal may be given them.
namespace sluice {

enum class line_ends { escape, keep };

/// `text` without what drives or deceives a terminal: control characters (C0, DEL, C1), controls of direction, characters that are
/// not seen, and bytes that are no UTF-8. A byte becomes \xNN, a character \u{NNNN}, an end of a line \n, a tab \t. A backslash
/// stays one: what is printed is for reading and cannot be turned back. `keep` leaves the ends of lines of a text of many.
[[nodiscard]] std::string printable(std::string_view text, line_ends ends = line_ends::escape);

/// Whether `printable` leaves it as it is. Allocates nothing for plain ASCII.
[[nodiscard]] bool is_printable(std::string_view text);

}  // namespace sluice
