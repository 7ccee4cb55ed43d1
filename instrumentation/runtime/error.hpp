#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

#include "instrumentation/backend/device_result.hpp"

// The exceptions of the public API. "Throws error" in a comment means `error` or a class derived from it. The layers
// below the public API return results (`backend::device_result`) instead of throwing.

namespace sluice::runtime {

using backend::status;

/// A call of the runtime failed. `what()` is one line: the call, the problem, and what was requested.
class error : public std::runtime_error {
 public:
  explicit error(backend::failure failure)
      : std::runtime_error(backend::describe(failure)), failure_(std::move(failure)) {}

  /// The category of the failure.
  [[nodiscard]] status code() const noexcept { return failure_.code; }
  /// The failed call and its details, for code that adds information and rethrows.
  [[nodiscard]] const backend::failure& cause() const noexcept { return failure_; }
  /// The driver's error number; 0 if the driver returned none.
  [[nodiscard]] int native() const noexcept { return failure_.native; }

 private:
  backend::failure failure_;
};

/// A pool's state at one moment. All in bytes unless stated otherwise.
struct pool_stats {
  std::uint64_t used = 0;             ///< size of allocated blocks, rounded up to the pool's size classes
  std::uint64_t requested = 0;        ///< bytes that the callers requested for those blocks
  std::uint64_t reserved = 0;         ///< allocated from upstream
  std::uint64_t kept = 0;             ///< the part of the free bytes that is kept for certain threads or graphs
  std::uint64_t kept_for_graphs = 0;  ///< the part of `kept` that waits for graphs to be destroyed
  std::uint64_t withheld = 0;         ///< free bytes of streams for which the pool could not wait; `trim` tries again
  /// Highest value of `used`. Exact if one thread allocates; otherwise too high by at most the bytes in the
  /// threads' caches.
  std::uint64_t peak_used = 0;
  std::uint64_t peak_reserved = 0;
  std::uint64_t largest_free = 0;   ///< the largest single free block, not counting blocks kept by threads
  std::uint64_t limit = 0;          ///< 0: no limit
  std::uint64_t used_blocks = 0;    ///< a count
  std::uint64_t free_blocks = 0;    ///< a count
  std::uint64_t segments = 0;       ///< a count: pieces of memory allocated from upstream
  std::uint64_t refused_frees = 0;  ///< a count: attempts to free something that is not an allocated block

  [[nodiscard]] std::uint64_t free() const noexcept { return reserved - used; }
  /// 1 - largest_free / free(). 0 if all free bytes are in one
  /// block or there are none; close to 1 if they are scattered.
  [[nodiscard]] double fragmentation() const noexcept {
    return free() == 0 ? 0.0 : 1.0 - static_cast<double>(largest_free) / static_cast<double>(free());
  }
};

/// Details of a failed allocation, and the state of the pool if a pool refused it.
struct refused_allocation {
  std::uint64_t bytes = 0;
  int device = -1;           ///< `device_ref::id()`, -1: not in `devices()`
  std::uint64_t stream = 0;  ///< native handle of the requesting stream, 0 for the default stream
  bool from_pool = false;
  pool_stats pool{};  ///< all zero unless `from_pool`
};

/// Thrown if there is not enough memory. Contains the requested size, the device, the stream and, if a pool refused the
/// allocation, the pool's state.
class out_of_memory : public error {
 public:
  out_of_memory(backend::failure failure, const refused_allocation& asked) : error(std::move(failure)), asked_(asked) {}

  [[nodiscard]] std::uint64_t requested_bytes() const noexcept { return asked_.bytes; }
  /// `device_ref::id()` of the device; -1 for a device that is not in `devices()`.
  [[nodiscard]] int device() const noexcept { return asked_.device; }
  /// Native handle of the requesting stream; 0 for the default stream.
  [[nodiscard]] std::uint64_t stream() const noexcept { return asked_.stream; }
  /// True if a pool refused the allocation; false if the driver or another resource did.
  [[nodiscard]] bool from_pool() const noexcept { return asked_.from_pool; }
  /// The pool's state when it refused; all zero unless `from_pool()`.
  [[nodiscard]] const pool_stats& pool() const noexcept { return asked_.pool; }
  /// The largest single free block of the pool, in bytes; 0 unless `from_pool()`.
  [[nodiscard]] std::uint64_t largest_free_block() const noexcept { return asked_.pool.largest_free; }

 private:
  refused_allocation asked_;
};

/// Returns the value, or throws the matching exception.
template <class T>
T value_or_throw(backend::device_result<T> result) {
  if (!result) throw error(std::move(result.error()));
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

}  // namespace sluice::runtime
