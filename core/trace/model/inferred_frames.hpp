#pragma once

namespace sluice::trace {

/// The start of the function name of a marker frame in a stack. The callers of the marker are inferred: they ran on
/// another thread, which requested the work.
inline constexpr char inferred_mark[] = "[inferred: ";

}  // namespace sluice::trace
