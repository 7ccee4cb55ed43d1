#pragma once

#include <atomic>

namespace sluice {

/// A cancellation flag that is never set. Pass it to a function that requires such a flag if the call need not be
/// cancellable.
inline const std::atomic<bool> never_cancelled{false};

}  // namespace sluice
