#pragma once

#include <array>

#include "core/metrics/findings/shared/descriptor.hpp"

/// Registers the findings about writes that nothing reads. Private to core/metrics.
namespace sluice::metrics {

inline constexpr auto dead_write_fixes = std::to_array<code_fix>({
    {"PyTorch", "x = torch.empty(shape, device=\"cuda\")  # not torch.zeros", "cleared"},
    {"CuPy", "x = cupy.empty(shape, dtype)  # not cupy.zeros", "cleared"},
});

inline constexpr auto dead_writes_rules = std::to_array<finding_rule>({
    {finding_kind::dead_write, "dead_write", "Written twice before any read",
     "Memory is cleared or uploaded, and then fully overwritten before anything reads it.",
     "A memset, a fill kernel or a copy writes the whole block, and the next access is a copy or memset that writes "
     "the whole block again. The blocks have at least 16 MiB in total.",
     "Kernels that overwrite a block are not reported, because the recording does not show whether they read the "
     "block first.",
     dead_write_fixes},
});

void find_dead_writes(finder& in);
inline constexpr auto dead_writes_steps = std::to_array<find_function>({find_dead_writes});

inline constexpr finding_descriptor dead_writes_findings{"dead_writes", "Dead writes", dead_writes_rules,
                                                         dead_writes_steps};

}  // namespace sluice::metrics
