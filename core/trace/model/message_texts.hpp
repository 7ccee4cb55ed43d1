#pragma once

#include <string_view>

/// How messages of a recording begin that findings are made of.
namespace sluice::trace {

/// Of a PyTorch memory snapshot whose history had no room for all entries.
inline constexpr std::string_view history_was_full = "PyTorch's memory history was full";

}  // namespace sluice::trace
