#pragma once

#include <string_view>
#include <utility>

namespace sluice::importing::torch {

/// Categories of torch.profiler's memory profiler that are named differently here: {in a snapshot, in a trace}. Others
/// have the same name or no counterpart.
inline constexpr std::pair<std::string_view, std::string_view> category_names[] = {
    {"parameter", "weight"}, {"optimizer_state", "optimizer state"}, {"temporary", "workspace"}};

}  // namespace sluice::importing::torch
