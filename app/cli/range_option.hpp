#pragma once

#include <string>

#include "core/base/error.hpp"
#include "core/timeline/time_range.hpp"

/// The --range option, shared by all verbs that have it.
namespace sluice::cli {

inline constexpr auto range_help = "Only this part of the recording, as 1.5s:2s, or 200ms: for the rest of it";

/// Parses FROM:TO. Each is a number with the unit ns, us, ms or s (default: s); if empty, the begin or end of `whole`.
/// Errors: invalid_argument.
[[nodiscard]] result<analysis::time_range> parse_range(const std::string& text, analysis::time_range whole);

}  // namespace sluice::cli
