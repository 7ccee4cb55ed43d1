#pragma once

#include <cstdint>
#include <string>

#include "core/base/error.hpp"
#include "core/generate/generate.hpp"

namespace sluice::generate {

/// Repeats the recording `source` until `to` has at least `events` events. The repetitions follow one another in time,
/// and each has its own blocks, events, correlations, graphs and addresses; rows of tables are written only once.
/// Blocks that are live at the end of a repetition are freed there, except in the last repetition. Takes O(events)
/// time. Holds the tables and the never-freed blocks of the recording in memory. Errors: those of reading and writing;
/// invalid_argument if the recording has no events, or if its ids are so large that those of two repetitions would
/// collide; cancelled.
[[nodiscard]] result<generated> tile(const std::string& source, std::uint64_t events, const std::string& to,
                                     const long_task& task = {});

}  // namespace sluice::generate
