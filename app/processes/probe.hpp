#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "core/base/error.hpp"

namespace sluice::processes {

/// The limits of a probe.
struct probe_limits {
  std::chrono::milliseconds timeout;                 ///< Time limit, after which the child is killed.
  std::size_t result_bytes = std::size_t{64} << 10;  ///< A longer result is reported as an error.
  /// Limit on the child's data (RLIMIT_DATA): its heap, stacks and other private writable memory. None: no limit.
  /// Builds with a sanitizer ignore this limit, because the sanitizer's own memory would count.
  std::optional<std::size_t> memory_bytes = std::nullopt;
};

/// Can end a probe before it is complete.
class probe_watcher {
 public:
  virtual ~probe_watcher() = default;
  /// The file descriptor to poll while the probe runs; -1: none.
  [[nodiscard]] virtual int descriptor() const = 0;
  /// Called whenever `descriptor` is readable. Returns true if the result is no longer wanted.
  [[nodiscard]] virtual bool gives_up() = 0;
};

/// Runs `query` in a child process and returns its result. This isolates code that may crash, exit, print, exhaust
/// memory or never return: drivers do all of these, and a parser of hostile files might. The child's standard input,
/// output and error are /dev/null, the kernel's OOM killer picks the child first, and the child never outlives this
/// process. Call before this process starts other threads, because the child has only the calling thread. Errors:
/// cancelled if `watcher` gives up; unavailable if the child was killed by a signal, exited, threw, exceeded `limits`,
/// or did not respond in time.
[[nodiscard]] result<std::string> probe(const std::function<std::string()>& query, const probe_limits& limits,
                                        probe_watcher* watcher = nullptr);

}  // namespace sluice::processes
