#pragma once

#include <string>
#include <string_view>

#include "core/trace/model/kinds.hpp"

/// User-visible names of the enumeration values in a recording. The report and the window share these names.
namespace sluice::trace {

/// Returns the name of a layer: "driver", "pool", "framework", "user".
[[nodiscard]] std::string_view get_name(trace::layer layer);
/// Returns what a layer's blocks are, for people: "CUDA allocations", "pool blocks", "framework tensors", "user blocks".
[[nodiscard]] std::string_view get_label(trace::layer layer);
/// Returns memory of a layer and kind, for people: "CUDA allocations", "framework tensors, pinned". Device memory is not
/// named.
[[nodiscard]] std::string describe_memory(trace::layer layer, trace::memory_kind kind);
/// Returns the name of a recording mode: "memory", "timeline", "all".
[[nodiscard]] std::string_view get_name(trace::recording_mode mode);
/// Returns the name of a kind of memory: "device", "pinned", ...
[[nodiscard]] std::string_view get_name(trace::memory_kind kind);
/// Returns the name of a copy's direction: "host to device", ...
[[nodiscard]] std::string_view get_name(trace::direction way);
/// Returns the name of memory as the source or destination of a copy: "pageable", "pinned", ...
[[nodiscard]] std::string_view name_of_side(trace::memory_kind kind);

}  // namespace sluice::trace
