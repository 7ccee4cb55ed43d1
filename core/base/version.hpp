#pragma once

namespace sluice {

/// Returns the program's version, "major.minor.patch", as set in CMakeLists.txt. It is written into recordings as their
/// creator. The string is static.
const char* version() noexcept;

}  // namespace sluice
