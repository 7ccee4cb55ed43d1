#pragma once

#include <string>
#include <string_view>

namespace sluice::exports {

/// Returns `text` without encodings that would hide characters of a path or a password from a search, even if they were
/// applied several times: percent-encoding ("%2Fhome"), escapes ("\x2f", "\u002f", "&#47;"), full-width and
/// mathematical letters, other slashes, colons and dots (U+FF0F, U+2215, ...), and invisible characters. Encoded
/// spaces, quotes and brackets stay encoded, so that one word does not become two. O(n).
[[nodiscard]] std::string plain_form(std::string_view text);

}  // namespace sluice::exports
