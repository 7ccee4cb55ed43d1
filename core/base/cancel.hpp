#pragma once

#include <atomic>

namespace sluice {

/// A cancellation flag that is never set: pass it to functions that take one when the caller will not cancel them.
inline const std::atomic<bool> never_cancelled{false};

}  // namespace sluice
