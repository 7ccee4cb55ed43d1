#pragma once

#include <string>
#include <string_view>

namespace sluice::cli {

/// Base64 as in RFC 4648, with padding. The encodings of two pieces can be concatenated if the first piece has a
/// multiple of 3 bytes. Linear.
[[nodiscard]] std::string base64(std::string_view bytes);

/// Escapes text for HTML or XML, including attributes in quotes. Linear.
[[nodiscard]] std::string as_html(std::string_view text);

}  // namespace sluice::cli
