#pragma once

#include <string_view>

/// The first words of recorded messages that the report turns into findings.
namespace sluice::trace {

/// Starts the message that the history of a PyTorch memory snapshot was too short to hold all entries.
inline constexpr std::string_view history_was_full = "PyTorch's memory history was full";

}  // namespace sluice::trace
