#pragma once

#include <atomic>
#include <exception>
#include <string>
#include <type_traits>

#include "instrumentation/ring/hot.hpp"

// Internal: error handling for libraries with a C interface, which no exception may cross.

namespace sluice::runtime::c_boundary {

/// The error message of the calling thread's last call; empty if that call succeeded.
class last_error {
 public:
  /// The library calls this at the start of each of its functions, even of fast allocations. It costs one load until a
  /// call in the process fails.
  static void clear() noexcept {
    if (any_.load(std::memory_order_relaxed)) [[unlikely]]
      clear_own();
  }
  SLUICE_RARE static void set(const char* line) noexcept {
    any_.store(true, std::memory_order_relaxed);  // each thread only reads its own text
    there_ = true;
    try {
      text() = line;
    } catch (const std::exception&) {
      text().clear();  // there was not even enough memory for the message
    }
  }
  /// The message; empty if there is no error. Valid until the thread's next call.
  [[nodiscard]] static const char* get() noexcept { return text().c_str(); }
  [[nodiscard]] static bool there() noexcept { return there_; }

 private:
  SLUICE_RARE static void clear_own() noexcept {
    if (!there_) return;
    there_ = false;
    text().clear();
  }

  static inline constinit std::atomic<bool> any_{false};
  static inline constinit thread_local bool there_ = false;
  static std::string& text() noexcept {
    thread_local std::string line;
    return line;
  }
};

/// Runs `work` and returns its result. If `work` throws, stores the exception's message as the last error and returns
/// null, or 1 if `work` returns a number.
template <class Work>
auto guarded(Work&& work) noexcept -> decltype(work()) {
  using result = decltype(work());
  last_error::clear();
  try {
    return work();
  } catch (const std::exception& e) {
    last_error::set(e.what());
  }
  if constexpr (std::is_pointer_v<result>) {
    return nullptr;
  } else if constexpr (!std::is_void_v<result>) {
    return 1;
  }
}

}  // namespace sluice::runtime::c_boundary
