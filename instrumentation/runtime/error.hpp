#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

#include "instrumentation/backend/outcome.hpp"

// The runtime's outer face throws; these are the types. Everything below it returns outcomes.

namespace sluice::runtime {

using backend::status;

/// A call of the runtime failed. `what()` is one line: the call, what went wrong, what was asked.
class error : public std::runtime_error {
 public:
  explicit error(backend::failure what) : std::runtime_error(backend::describe(what)), failure_(std::move(what)) {}

  [[nodiscard]] status code() const noexcept { return failure_.code; }
  /// The call and what it met, for an error that says more.
  [[nodiscard]] const backend::failure& cause() const noexcept { return failure_; }
  /// The driver's own number, 0 where there is none.
  [[nodiscard]] int native() const noexcept { return failure_.native; }

 private:
  backend::failure failure_;
};

/// What a pool holds at one moment; all in bytes unless said otherwise.
struct pool_stats {
  std::uint64_t used = 0;       ///< in allocated blocks, rounded to the pool's granule
  std::uint64_t requested = 0;  ///< what the callers of those blocks asked for
  std::uint64_t reserved = 0;   ///< taken from upstream
  std::uint64_t kept = 0;       ///< of the free bytes, those that threads keep for their next allocations, or graphs
  std::uint64_t kept_for_graphs = 0;  ///< of those, what waits for captured graphs to go
  std::uint64_t withheld = 0;  ///< of the free bytes, those whose stream could not be waited for (trim tries again)
  /// The most that was used at once. Exact where one thread allocates; of several it may be too high by what they keep.
  std::uint64_t peak_used = 0;
  std::uint64_t peak_reserved = 0;
  std::uint64_t largest_free = 0;   ///< the largest single free block, of those that no thread keeps
  std::uint64_t limit = 0;          ///< 0: none
  std::uint64_t used_blocks = 0;    ///< a count
  std::uint64_t free_blocks = 0;    ///< a count
  std::uint64_t segments = 0;       ///< a count: pieces taken from upstream
  std::uint64_t refused_frees = 0;  ///< a count: frees of what was no allocated block

  [[nodiscard]] std::uint64_t free() const noexcept { return reserved - used; }
  /// 1 - largest free / free: 0 when all free bytes are in one block (or none are free), towards 1 when they are
  /// scattered.
  [[nodiscard]] double fragmentation() const noexcept {
    return free() == 0 ? 0.0 : 1.0 - static_cast<double>(largest_free) / static_cast<double>(free());
  }
};

/// Who asked for memory that there was not, and, if a pool refused, what it held.
struct refused_allocation {
  std::uint64_t bytes = 0;
  int device = -1;           ///< `device_ref::id()` of the device, -1: made by hand
  std::uint64_t stream = 0;  ///< native handle of the stream that asked, 0 for the default stream
  bool from_pool = false;
  pool_stats pool{};  ///< all zero unless `from_pool`
};

/// No memory: says how much was asked of whom, and, if a pool refused, what it held.
class out_of_memory : public error {
 public:
  out_of_memory(backend::failure what, const refused_allocation& asked) : error(std::move(what)), asked_(asked) {}

  [[nodiscard]] std::uint64_t requested_bytes() const noexcept { return asked_.bytes; }
  /// `device_ref::id()` of the device, -1 for one made by hand.
  [[nodiscard]] int device() const noexcept { return asked_.device; }
  /// Native handle of the stream that asked, 0 for the default stream.
  [[nodiscard]] std::uint64_t stream() const noexcept { return asked_.stream; }
  [[nodiscard]] bool from_pool() const noexcept { return asked_.from_pool; }
  /// All zero unless `from_pool()`.
  [[nodiscard]] const pool_stats& pool() const noexcept { return asked_.pool; }
  /// The largest single free block of the pool, in bytes; 0 unless `from_pool()`.
  [[nodiscard]] std::uint64_t largest_free_block() const noexcept { return asked_.pool.largest_free; }

 private:
  refused_allocation asked_;
};

/// The value, or an exception of the right type.
template <class T>
T value_or_throw(backend::outcome<T> result) {
  if (!result) throw error(std::move(result.error()));
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

}  // namespace sluice::runtime
