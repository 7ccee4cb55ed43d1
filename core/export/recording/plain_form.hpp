#pragma once

#include <string>
#include <string_view>

namespace sluice::exports {

/// Undoes what hides characters of a path or a password from a search, however often it was done: percent-encoding
/// ("%2Fhome"), escapes ("\x2f", "\u002f", "&#47;"), full-width and mathematical letters and other slashes, colons and
/// dots (U+FF0F, U+2215, ...), and invisible characters. Spaces, quotes and brackets stay as they are, so that one word
/// does not become two. O(n).
[[nodiscard]] std::string plain_form(std::string_view text);

}  // namespace sluice::exports
