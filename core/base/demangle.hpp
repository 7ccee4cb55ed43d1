#pragma once

#include <string>

namespace sluice {

/// Returns the C++ name that an Itanium-mangled symbol ("_Z...") encodes; empty if `symbol` is not mangled.
///
/// A mangled symbol can refer back to its own parts, so in a hostile symbol, every ten characters can double the length
/// of the result. Returns an empty string for symbols longer than 4,096 characters, with more than 65,536 parts, or
/// with a name longer than 64 KiB; kernel names of the largest template libraries take about 10 KiB. Thread-safe. Takes
/// O(parts) time; a part counts once for each time that it is repeated.
[[nodiscard]] std::string demangled(const std::string& symbol);

}  // namespace sluice
