#pragma once

namespace sluice {

/// Lowers the priority of the calling thread: for background work that must not slow down the recorded program or
/// drawing. If this fails, the priority stays unchanged.
void lower_priority();

}  // namespace sluice
