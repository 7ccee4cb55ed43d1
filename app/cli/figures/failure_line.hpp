#pragma once

#include <optional>
#include <string>

#include "core/base/error.hpp"

namespace sluice::cli {

/// What happened when an allocation failed, in one line: "out of memory: 2.0 GiB asked for with cudaMalloc by train.py:12
/// (step), 71.3 GiB in use". Of several failures the last one. Null if the recording `path` has no failure that reached
/// the program (those that an allocator survived do not count). Reads all events. Errors: as for opening a recording.
[[nodiscard]] result<std::optional<std::string>> failure_line(const std::string& path);

}  // namespace sluice::cli
