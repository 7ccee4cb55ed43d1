#pragma once

namespace sluice {

/// Lowers the priority of the calling thread, for work that must not be in the way of a program or of drawing. Failure
/// costs only smoothness.
void lower_priority();

}  // namespace sluice
