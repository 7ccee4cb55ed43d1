#pragma once

namespace sluice::trace {

/// Prefix of the function name of a marker frame in a stack. Frames further out than the marker are inferred: they ran
/// on another thread and requested the work.
inline constexpr char inferred_mark[] = "[inferred: ";

}  // namespace sluice::trace
