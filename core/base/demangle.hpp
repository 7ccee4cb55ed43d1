#pragma once

#include <string>

namespace sluice {

/// The name that a C++ symbol (Itanium's mangling: "_Z...") stands for; empty for what is none.
///
/// A symbol can refer to its own parts, so that each ten characters of a hostile one double what it says. Such are answered with nothing:
/// those longer than 4,096 characters, of more than 65,536 parts, or with a name of more than 64 KiB; kernels of the largest template
/// libraries have names of some 10 KiB. Thread-safe. O(parts), which may repeat themselves.
[[nodiscard]] std::string demangled(const std::string& symbol);

}  // namespace sluice
