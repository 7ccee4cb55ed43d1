#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "core/base/error.hpp"
#include "core/base/system/child_process.hpp"

namespace sluice::processes {

/// Runs `query` in a child process and returns its result. This isolates code that may crash, exit, print, exhaust
/// memory or never return: drivers do all of these, and a parser of hostile files might. The child's standard input,
/// output and error are /dev/null, the kernel's OOM killer picks the child first, and the child never outlives this
/// process. The child runs no other program, so `child_process::start` cannot create it. Call before this process starts other threads, because the child has only the calling thread. Errors:
/// cancelled if `watcher` gives up; unavailable if the child was killed by a signal, exited, threw, exceeded `limits` or
/// `memory_bytes`, or did not respond in time.
///
/// `memory_bytes` limits the child's data (RLIMIT_DATA): its heap, stacks and other private writable memory. None: no
/// limit. Builds with a sanitizer ignore this limit, because the sanitizer's own memory would count.
[[nodiscard]] result<std::string> probe(const std::function<std::string()>& query, const output_limits& limits,
                                        std::optional<std::size_t> memory_bytes = std::nullopt,
                                        output_watcher* watcher = nullptr);

}  // namespace sluice::processes
