#pragma once

#include <string_view>

#include "core/trace/model/kinds.hpp"

/// Names of a recording's enumerations for people. The report and the window use the same names.
namespace sluice {

/// Names a layer: "driver", "pool", "framework", "user".
[[nodiscard]] std::string_view name_of(trace::layer layer);
/// Names a recording mode: "memory", "timeline", "all".
[[nodiscard]] std::string_view name_of(trace::recording_mode mode);
/// Names a kind of memory: "device", "pinned", ...
[[nodiscard]] std::string_view name_of(trace::memory_kind kind);
/// Names a copy's direction: "host to device", ...
[[nodiscard]] std::string_view name_of(trace::direction way);
/// Names memory as one side of a copy: "pageable", "pinned", ...
[[nodiscard]] std::string_view name_of_side(trace::memory_kind kind);

}  // namespace sluice
