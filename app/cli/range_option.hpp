#pragma once

#include <string>

#include "core/base/error.hpp"
#include "core/timeline/time_range.hpp"

/// The option --range, which means the same wherever it is taken.
namespace sluice::cli {

inline constexpr auto range_help = "Only this part of the recording, as 1.5s:2s, or 200ms: for the rest of it";

/// Reads FROM:TO. Each is a number with ns, us, ms or s behind it (none: s); an empty one is the begin or the end of
/// `whole`. Errors: invalid_argument.
[[nodiscard]] result<analysis::time_range> parse_range(const std::string& text, analysis::time_range whole);

}  // namespace sluice::cli
