#pragma once

#include <optional>
#include <string>

#include "core/metrics/host_causes/host_cause_groups.hpp"
#include "core/symbols/frames.hpp"
#include "core/trace/model/tables.hpp"

/// Causes of idle time as text.
namespace sluice::metrics {

/// Returns what the host did, as a phrase that follows "the host": "builds a plan for a new shape (cuDNN)".
[[nodiscard]] std::string describe_reason(const host_cause& cause);

/// Returns the line of the program that the cause names, as the recording names it; none if there is none. The names of
/// native code are not looked up.
[[nodiscard]] std::optional<symbols::frame_line> find_line(const host_cause& cause, const trace::tables& tables);

/// Returns a line such as "model.py:64 (forward)"; empty if `line` is default-constructed.
[[nodiscard]] std::string describe_line(const symbols::frame_line& line);

/// Returns the line of the program that the cause names, such as "model.py:64 (forward)", as the recording names it.
/// Empty if there is none.
[[nodiscard]] std::string describe_line(const host_cause& cause, const trace::tables& tables);

}  // namespace sluice::metrics
