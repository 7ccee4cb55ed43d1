#pragma once

#include <cstdint>
#include <string>

#include "core/base/error.hpp"
#include "core/generate/generate.hpp"

namespace sluice::generate {

/// Repeats the recording `from` until there are at least `events` events in `to`: each repetition follows the one before in time and has
/// blocks, events, correlations, graphs and addresses of its own; what the tables say is said once. What is still live at the end of a
/// repetition is freed there, but for the last. O(events) time; memory is that of the recording's tables and of the blocks that
/// it never frees. Errors: those of reading and writing; invalid_argument for a recording without events or with ids so large that
/// repetitions would meet; cancelled.
[[nodiscard]] result<generated> tile(const std::string& from, std::uint64_t events, const std::string& to,
                                     const long_task& task = {});

}  // namespace sluice::generate
