#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <utility>

#include "core/base/error.hpp"

namespace sluice {

/// Lets the caller of a long-running function watch its progress and cancel it.
struct long_task {
  const std::atomic<bool>* cancelled = nullptr;  ///< Once true, the task ends with error_code::cancelled. Null: never.
  std::function<void(double)> progress{};        ///< Called now and then with the share done, 0..1. May be empty.

  /// Reports `share`, the part of the task done so far (0..1). Errors: cancelled; the error then names the file `path`.
  [[nodiscard]] result<void> go_on(double share, const std::string& path) const {
    if (cancelled != nullptr && *cancelled) return fail(error_code::cancelled, "was cancelled", path);
    if (progress) progress(share);
    return {};
  }
};

}  // namespace sluice
