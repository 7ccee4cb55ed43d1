#pragma once

namespace sluice {

/// The program's version, "major.minor.patch", from CMakeLists.txt. Traces name it as their maker. Lives as long as the
/// program.
const char* version() noexcept;

}  // namespace sluice
