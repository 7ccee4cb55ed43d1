#pragma once

#include <array>

#include "core/metrics/findings/shared/descriptor.hpp"

/// Registers the findings about what the peak consists of. Private to core/metrics.
namespace sluice::metrics {

inline constexpr auto activations_dominate_fixes = std::to_array<code_fix>({
    {"PyTorch", "x = torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False)  # computes them again",
     "training"},
});

// AdamW8bit: torchao's documentation of torchao.optim.
inline constexpr auto optimizer_state_dominates_fixes = std::to_array<code_fix>({
    {"PyTorch",
     "from torchao.optim import AdamW8bit\n"
     "optimizer = AdamW8bit(model.parameters())  # instead of torch.optim.AdamW"},
});

inline constexpr auto compositions_rules = std::to_array<finding_rule>({
    {finding_kind::activations_dominate, "activations_dominate", "Activations fill the peak",
     "Activations are at least half of the peak.",
     "The categories at the peak show this. The activations have at least 64 MiB.",
     "Categories are inferred, unless the program names them.", activations_dominate_fixes},
    {finding_kind::optimizer_state_dominates, "optimizer_state_dominates", "Optimizer state fills the peak",
     "Optimizer state is at least 40 % of the peak.",
     "The categories at the peak show this. The optimizer state has at least 64 MiB.",
     "Categories are inferred, unless the program names them.", optimizer_state_dominates_fixes},
});

void find_compositions(finder& in);
inline constexpr auto compositions_steps = std::to_array<find_function>({find_compositions});

inline constexpr finding_descriptor compositions_findings{"compositions", "Composition of the peak", compositions_rules,
                                                          compositions_steps};

}  // namespace sluice::metrics
