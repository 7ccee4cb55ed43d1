#pragma once

namespace sluice::trace {

/// A frame whose function begins so stands in a stack between what a thread did itself and, further out, what is inferred to have
/// asked for it on another thread.
inline constexpr char inferred_mark[] = "[inferred: ";

}  // namespace sluice::trace
