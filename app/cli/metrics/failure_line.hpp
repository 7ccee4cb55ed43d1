#pragma once

#include <optional>
#include <string>

#include "core/base/error.hpp"

namespace sluice::cli {

/// Describes a failed allocation in one line: "out of memory: 2.0 GiB requested with cudaMalloc by train.py:12 (step),
/// 71.3 GiB in use". If several allocations failed, describes the last. Null if no failure in the recording `path`
/// reached the program (failures from which an allocator recovered do not count). Reads all events. Errors: those of
/// opening a recording.
[[nodiscard]] result<std::optional<std::string>> failure_line(const std::string& path);

}  // namespace sluice::cli
