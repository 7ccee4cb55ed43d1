#pragma once

#include <optional>

#include "app/cli/mcp/server.hpp"

namespace sluice::cli::mcp {

/// The tool `screenshot`: the window as a picture. Nothing in a build without the window.
[[nodiscard]] std::optional<tool> picture_tool();

/// Base64 as in RFC 4648, with padding. Linear.
[[nodiscard]] std::string base64(std::string_view bytes);

}  // namespace sluice::cli::mcp
