#pragma once

#include <atomic>

namespace sluice {

/// A cancellation flag that is never set: for calls that need not be cancellable.
inline const std::atomic<bool> never_cancelled{false};

}  // namespace sluice
