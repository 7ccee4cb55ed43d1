#pragma once

#include <string>

#include "core/base/error.hpp"
#include "core/base/time/time_range.hpp"

/// The --range option, shared by all verbs that have it.
namespace sluice::cli {

inline constexpr auto range_help =
    "Only this part of the recording: FROM:TO, such as 1.5s:2s. An empty TO means the end, as in 200ms:";

/// Parses FROM:TO. Each of the two is a number with the unit ns, us, ms or s (default: s); an empty FROM or TO means
/// the start or end of `whole`. Errors: invalid_argument.
[[nodiscard]] result<time_range> parse_range(const std::string& text, time_range whole);

}  // namespace sluice::cli
