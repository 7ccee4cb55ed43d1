#pragma once

#include <cstdint>
#include <string>

#include "core/base/error.hpp"
#include "core/generate/generate.hpp"

namespace sluice::generate {

/// Repeats the recording `from` until `to` has at least `events` events. The repetitions follow one another in time,
/// each with its own blocks, events, correlations, graphs and addresses; table rows are written once. Blocks live at
/// the end of a repetition are freed there, except in the last one. O(events) time; memory for the recording's tables
/// and its never-freed blocks. Errors: those of reading and writing; invalid_argument if the recording has no events,
/// or ids so large that those of two repetitions would collide; cancelled.
[[nodiscard]] result<generated> tile(const std::string& from, std::uint64_t events, const std::string& to,
                                     const long_task& task = {});

}  // namespace sluice::generate
