#pragma once

#include <string>
#include <vector>

#include "core/base/error.hpp"

/// Command lines as users type them.
namespace sluice::processes {

/// Splits a command line into words as a shell does: spaces separate words, except in quotes and after a backslash.
/// Expands nothing. Errors: invalid_argument if a quote is not closed.
[[nodiscard]] result<std::vector<std::string>> split_words(const std::string& line);
/// The inverse of `split_words`: puts quotes around the words that need them.
[[nodiscard]] std::string joined_words(const std::vector<std::string>& words);

}  // namespace sluice::processes
