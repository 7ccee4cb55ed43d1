#pragma once

#include <string>

namespace sluice {

/// Returns the C++ name that an Itanium-mangled symbol ("_Z...") stands for; empty if `symbol` is not mangled.
///
/// A mangled symbol can refer back to its own parts, so in a hostile one every ten characters can double the result.
/// Symbols over 4,096 characters, with over 65,536 parts, or with a name over 64 KiB give an empty string; kernel names
/// of the largest template libraries take about 10 KiB. Thread-safe. O(parts), repeated parts counted each time.
[[nodiscard]] std::string demangled(const std::string& symbol);

}  // namespace sluice
