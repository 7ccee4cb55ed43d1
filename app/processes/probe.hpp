#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "core/base/error.hpp"

namespace sluice::processes {

/// What a probe may take.
struct probe_limits {
  std::chrono::milliseconds timeout;                 ///< Then the child is killed.
  std::size_t answer_bytes = std::size_t{64} << 10;  ///< A longer answer is an error.
  /// Of the child's data (RLIMIT_DATA): its heap, stacks and other private memory that can be written. None: no limit.
  /// Builds with a sanitizer ignore it, because the sanitizer's own memory counts.
  std::optional<std::size_t> memory_bytes = std::nullopt;
};

/// Can end a probe early.
class probe_watcher {
 public:
  virtual ~probe_watcher() = default;
  /// What to wait for; -1: nothing.
  [[nodiscard]] virtual int descriptor() const = 0;
  /// Called whenever `descriptor` can be read. True: the answer is not wanted any more.
  [[nodiscard]] virtual bool gives_up() = 0;
};

/// Runs `question` in a child process and returns its answer. So code that crashes, ends the process, prints, takes all
/// memory or never returns does no harm: drivers do all of these, and so may a reader of hostile files. The child has
/// nothing on its standard files, is the first that the kernel ends when memory runs out, and never outlives this
/// process. Call before the process has other threads: the child has only the calling one.
/// Errors: cancelled if `watcher` gives up; unavailable if the child was ended by a signal, ended by itself, threw, needs
/// more than `limits`, or did not answer in time.
[[nodiscard]] result<std::string> probe(const std::function<std::string()>& question, const probe_limits& limits,
                                        probe_watcher* watcher = nullptr);

}  // namespace sluice::processes
