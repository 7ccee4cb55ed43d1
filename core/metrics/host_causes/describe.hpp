#pragma once

#include <string>

#include "core/metrics/host_causes/host_cause_groups.hpp"
#include "core/trace/model/tables.hpp"

/// Causes of idle time as text.
namespace sluice::metrics {

/// Returns what the host did, as a phrase that follows "the host": "builds a plan for a new shape (cuDNN)".
[[nodiscard]] std::string describe_reason(const host_cause& cause);

/// Returns the line of the program that the cause names, such as "model.py:64 (forward)", as the recording names it.
/// Empty if there is none.
[[nodiscard]] std::string describe_line(const host_cause& cause, const trace::tables& tables);

}  // namespace sluice::metrics
