#pragma once

#include <string_view>
#include <utility>

namespace sluice::importing::torch {

/// The categories of torch.profiler's memory profiler that have other names here: in a snapshot, in a trace. The others are the same or
/// have no like.
inline constexpr std::pair<std::string_view, std::string_view> category_names[] = {
    {"parameter", "weight"}, {"optimizer_state", "optimizer state"}, {"temporary", "workspace"}};

}  // namespace sluice::importing::torch
