#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "core/base/error.hpp"

namespace sluice::cli {

/// Runs `question` in a child process and returns its answer. So a library that crashes, ends the process, prints or
/// never returns does no harm: drivers do all of these. The child prints nothing and ends at once after the answer.
/// Errors `unavailable`: the child was ended by a signal, ended by itself, or did not answer in time (it is killed).
/// Call before the process has other threads: the child has only the calling one.
[[nodiscard]] result<std::string> probe(const std::function<std::string()>& question,
                                        std::chrono::milliseconds timeout);

}  // namespace sluice::cli
