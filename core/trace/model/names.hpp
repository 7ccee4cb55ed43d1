#pragma once

#include <string_view>

#include "core/trace/model/kinds.hpp"

/// Names of the enumerations in a trace. The report and the window share them.
namespace sluice {

/// "driver", "pool", "framework", "user".
[[nodiscard]] std::string_view name_of(trace::layer layer);
/// "memory", "timeline", "all".
[[nodiscard]] std::string_view name_of(trace::recording_mode mode);
/// "device", "pinned", ...
[[nodiscard]] std::string_view name_of(trace::memory_kind kind);
/// "host to device", ...
[[nodiscard]] std::string_view name_of(trace::direction way);
/// Names memory as one side of a copy: "pageable", "pinned", ...
[[nodiscard]] std::string_view name_of_side(trace::memory_kind kind);

}  // namespace sluice
