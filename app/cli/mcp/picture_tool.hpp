#pragma once

#include <optional>

#include "app/cli/mcp/server.hpp"

namespace sluice::cli::mcp {

/// The tool `screenshot`, which returns a picture of the window. Null in a build without the window.
[[nodiscard]] std::optional<tool> picture_tool();

}  // namespace sluice::cli::mcp
