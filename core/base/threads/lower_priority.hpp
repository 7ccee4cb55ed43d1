#pragma once

namespace sluice {

/// Lowers the priority of the calling thread, so that background work does not slow down the recorded program or
/// drawing. If the system refuses, the priority stays unchanged.
void lower_priority();

}  // namespace sluice
