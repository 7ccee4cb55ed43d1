#pragma once

#include <atomic>

namespace sluice {

/// For functions that look at a flag to see whether their answer is still wanted, when it always is.
inline const std::atomic<bool> never_cancelled{false};

}  // namespace sluice
