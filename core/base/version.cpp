#include "core/base/version.hpp"

namespace sluice {

const char* version() noexcept { return SLUICE_VERSION; }

}  // namespace sluice
