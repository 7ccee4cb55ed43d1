#pragma once

#include <atomic>
#include <exception>
#include <string>
#include <type_traits>

#include "instrumentation/ring/hot.hpp"

// What the libraries with a C face share: nothing crosses it as an exception. Internal.

namespace sluice::runtime::c_boundary {

/// One line about the calling thread's last call, if that failed.
class last_error {
 public:
  /// A call begins. One load as long as none has failed in the process, for hits of a pool are calls.
  static void clear() noexcept {
    if (any_.load(std::memory_order_relaxed)) [[unlikely]]
      clear_own();
  }
  SLUICE_RARE static void set(const char* line) noexcept {
    any_.store(true, std::memory_order_relaxed);  // a thread asks about its own
    there_ = true;
    try {
      text() = line;
    } catch (const std::exception&) {
      text().clear();  // no memory for a line either
    }
  }
  /// Empty if there was none. Valid until the thread's next call.
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

/// Runs `work`. What it throws becomes the last error, and null, or 1 where it gives a number.
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
