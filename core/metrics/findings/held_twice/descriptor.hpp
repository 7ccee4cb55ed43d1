#pragma once

#include <array>

#include "core/metrics/findings/shared/descriptor.hpp"
#include "core/metrics/findings/shared/thresholds.hpp"

/// Registers the findings about tensors that are held in two data types. Private to core/metrics.
namespace sluice::metrics {

// The texts below quote these thresholds. If a threshold changes, update the texts.
static_assert(warned_memory_share == 0.03);

inline constexpr auto held_in_two_types_fixes = std::to_array<code_fix>({
    {"PyTorch", "model = model.to(torch.bfloat16).cuda()  # converts on the host, if only the smaller ones are needed",
     "smaller copies"},
});

inline constexpr auto held_twice_rules = std::to_array<finding_rule>({
    {finding_kind::held_in_two_types, "held_in_two_types", "Tensors held in two types",
     "The same values are held in two data types, for example fp32 weights and an fp16 copy.",
     "The finding is only a note. The first use of a block is a kernel with only two blocks as arguments: this block "
     "and a block of twice or half the size. If a category is known, four times or a quarter of the size also counts. "
     "Both blocks are live at the peak and for half of the time from then on, and the smaller blocks are 3 % of the "
     "peak. Gradients, activations and inputs do not count.",
     "The recording does not show what the kernel does, so it may compute a block from another block of twice the "
     "size. Copies into an existing block, and copies by kernels with more arguments, are not detected.",
     held_in_two_types_fixes},
});

void find_held_twice(finder& in);
inline constexpr auto held_twice_steps = std::to_array<find_function>({find_held_twice});

inline constexpr finding_descriptor held_twice_findings{"held_twice", "Tensors held in two types", held_twice_rules,
                                                        held_twice_steps};

}  // namespace sluice::metrics
