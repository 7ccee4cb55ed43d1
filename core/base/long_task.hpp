#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <utility>

#include "core/base/error.hpp"

namespace sluice {

/// Lets the caller of a function that runs for a long time watch its progress and cancel it.
struct long_task {
  const std::atomic<bool>* cancelled = nullptr;  ///< Once it is true, the task ends with error_code::cancelled. Null:
                                                 ///< the task cannot be cancelled.
  std::function<void(double)> progress{};        ///< Called from time to time with the share of the task that is done,
                                                 ///< 0..1. May be empty.

  /// Reports that `share` (0..1) of the task is done. Errors: cancelled; the error names the file `path`.
  [[nodiscard]] result<void> go_on(double share, const std::string& path) const {
    if (cancelled != nullptr && *cancelled) return fail(error_code::cancelled, "was cancelled", path);
    if (progress) progress(share);
    return {};
  }
};

}  // namespace sluice
