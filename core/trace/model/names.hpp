#pragma once

#include <string_view>

#include "core/trace/model/kinds.hpp"

/// What the kinds of things in a trace are called; the report and the window use the same words.
namespace sluice {

/// "driver", "pool", "framework", "user".
[[nodiscard]] std::string_view name_of(trace::layer layer);
/// "memory", "timeline", "all".
[[nodiscard]] std::string_view name_of(trace::recording_mode mode);
/// "device", "pinned", ...
[[nodiscard]] std::string_view name_of(trace::memory_kind kind);
/// "host to device", ...
[[nodiscard]] std::string_view name_of(trace::direction way);
/// "pageable", "pinned", ...: memory as a side of a copy.
[[nodiscard]] std::string_view name_of_side(trace::memory_kind kind);

}  // namespace sluice
