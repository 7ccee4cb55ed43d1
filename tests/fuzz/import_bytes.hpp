#pragma once

#include <memory>
#include <string_view>

#include "core/trace/file/reader.hpp"

namespace sluice::fuzz {

/// Imports a file with this content, in whatever format it claims to have. The returned recording's file is already
/// unlinked. Returns null if nothing can be imported.
[[nodiscard]] std::shared_ptr<trace::file> imported(std::string_view content);

/// Imports a file with this content and reads every row of the result.
void import_bytes(std::string_view content);

}  // namespace sluice::fuzz
