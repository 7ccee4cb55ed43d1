#pragma once

#include <string>
#include <string_view>

namespace sluice::cli {

/// Base64 as in RFC 4648, with padding. The texts of two pieces can be joined if the first has a multiple of 3 bytes.
/// Linear.
[[nodiscard]] std::string base64(std::string_view bytes);

/// Text for a page or for XML, also for an attribute in quotes. Linear.
[[nodiscard]] std::string as_html(std::string_view text);

}  // namespace sluice::cli
