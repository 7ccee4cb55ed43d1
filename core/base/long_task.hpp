#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <utility>

#include "core/base/error.hpp"

namespace sluice {

/// How who asks for something that takes long hears of it, and ends it.
struct long_task {
  const std::atomic<bool>* cancelled = nullptr;  ///< Once true, the task ends with error_code::cancelled. Null: never.
  std::function<void(double)> progress{};        ///< Told the share that is done, 0..1, now and then. May be empty.

  /// Tells the share. Errors: cancelled, which is said of `path`.
  [[nodiscard]] result<void> go_on(double share, const std::string& path) const {
    if (cancelled != nullptr && *cancelled) return fail(error_code::cancelled, "was cancelled", path);
    if (progress) progress(share);
    return {};
  }
};

}  // namespace sluice
