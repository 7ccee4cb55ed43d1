#pragma once

#include <string_view>
#include <utility>

namespace sluice::importing::torch {

/// Categories of torch.profiler's memory profiler that have a different name in a trace: {name in a snapshot, name in a
/// trace}. Other categories have the same name or no counterpart.
inline constexpr std::pair<std::string_view, std::string_view> category_names[] = {
    {"parameter", "weight"}, {"optimizer_state", "optimizer state"}, {"temporary", "workspace"}};

}  // namespace sluice::importing::torch
