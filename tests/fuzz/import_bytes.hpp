#pragma once

#include <memory>
#include <string_view>

#include "core/trace/file/reader.hpp"

namespace sluice::fuzz {

/// Imports bytes, whatever format they claim to be of. The recording's file has no name any more; null if there is nothing to import.
[[nodiscard]] std::shared_ptr<trace::file> imported(std::string_view content);

/// Imports bytes, whatever format they claim to be of, and reads every row of what comes of it.
void import_bytes(std::string_view content);

}  // namespace sluice::fuzz
