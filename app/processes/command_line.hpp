#pragma once

#include <string>
#include <vector>

#include "core/base/error.hpp"

/// Command lines as people type them.
namespace sluice::processes {

/// Splits a command line into words as a shell does: spaces separate; quotes and backslashes keep them. Nothing is
/// expanded. Errors: invalid_argument if a quote is not closed.
[[nodiscard]] result<std::vector<std::string>> split_words(const std::string& line);
/// The inverse of `split_words`: quotes words that need it.
[[nodiscard]] std::string joined_words(const std::vector<std::string>& words);

}  // namespace sluice::processes
