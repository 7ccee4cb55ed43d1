#pragma once

#include <string_view>

/// The first words of messages in a recording that the report turns into findings.
namespace sluice::trace {

/// Begins the message about a PyTorch memory snapshot whose history had no room for all entries.
inline constexpr std::string_view history_was_full = "PyTorch's memory history was full";

}  // namespace sluice::trace
