#pragma once

#include <optional>

#include "app/cli/mcp/server.hpp"

namespace sluice::cli::mcp {

/// The tool `screenshot`: the window as a picture. Nothing in a build without the window.
[[nodiscard]] std::optional<tool> picture_tool();

}  // namespace sluice::cli::mcp
