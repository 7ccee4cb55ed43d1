#pragma once

#include <string_view>

namespace sluice::fuzz {

/// Imports bytes, whatever format they claim to be of, and reads every row of what comes of it.
void import_bytes(std::string_view content);

}  // namespace sluice::fuzz
