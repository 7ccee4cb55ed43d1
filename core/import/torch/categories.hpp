#pragma once

#include <string_view>
#include <utility>

namespace sluice::importing::torch {

/// Categories that PyTorch's memory profiler and a Sluice recording name differently: {name in PyTorch's memory
/// snapshot, name in the recording}. Other categories have the same name in both or exist in only one of them.
inline constexpr std::pair<std::string_view, std::string_view> category_names[] = {
    {"parameter", "weight"}, {"optimizer_state", "optimizer state"}, {"temporary", "workspace"}};

}  // namespace sluice::importing::torch
