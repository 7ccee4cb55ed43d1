#pragma once

namespace sluice {

/// The program's version, "major.minor.patch", from CMakeLists.txt. Written into recordings as their creator. The
/// string is static.
const char* version() noexcept;

}  // namespace sluice
