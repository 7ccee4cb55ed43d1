#pragma once

#include <array>

#include "core/metrics/findings/shared/descriptor.hpp"

/// Registers the findings about errors that end all work of a process on the GPU. Private to core/metrics.
namespace sluice::metrics {

inline constexpr auto faults_rules = std::to_array<finding_rule>({
    {finding_kind::gpu_fault, "gpu_fault", "GPU fault",
     "A GPU error ended all work of the process, for example an illegal address.",
     "A call returned such an error. The finding names the kernels that were enqueued before the call and possibly "
     "unfinished.",
     "The finding does not show which of these kernels caused the error. compute-sanitizer reports the access."},
});

void find_faults(finder& in);
inline constexpr auto faults_steps = std::to_array<find_function>({find_faults});

inline constexpr finding_descriptor faults_findings{"faults", "GPU faults", faults_rules, faults_steps};

}  // namespace sluice::metrics
