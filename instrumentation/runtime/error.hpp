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
  std::uint64_t peak_used = 0;
  std::uint64_t peak_reserved = 0;
  std::uint64_t largest_free = 0;  ///< the largest single free block
  std::uint64_t limit = 0;         ///< 0: none
  std::uint64_t used_blocks = 0;   ///< a count
  std::uint64_t free_blocks = 0;   ///< a count
  std::uint64_t segments = 0;      ///< a count: pieces taken from upstream

  [[nodiscard]] std::uint64_t free() const noexcept { return reserved - used; }
  /// 1 - largest free / free: 0 when all free bytes are in one block (or none are free), towards 1 when they are
  /// scattered.
  [[nodiscard]] double fragmentation() const noexcept {
    return free() == 0 ? 0.0 : 1.0 - static_cast<double>(largest_free) / static_cast<double>(free());
  }
};

/// No memory: says how much was asked of whom, and, if a pool refused, what it held.
class out_of_memory : public error {
 public:
  out_of_memory(backend::failure what, std::uint64_t requested, std::uint64_t stream = 0)
      : error(std::move(what)), requested_(requested), stream_(stream) {}
  out_of_memory(backend::failure what, std::uint64_t requested, std::uint64_t stream, const pool_stats& pool)
      : error(std::move(what)), requested_(requested), stream_(stream), pool_(pool), from_pool_(true) {}

  [[nodiscard]] std::uint64_t requested_bytes() const noexcept { return requested_; }
  /// Native handle of the stream that asked, 0 for the default stream.
  [[nodiscard]] std::uint64_t stream() const noexcept { return stream_; }
  [[nodiscard]] bool from_pool() const noexcept { return from_pool_; }
  /// All zero unless `from_pool()`.
  [[nodiscard]] const pool_stats& pool() const noexcept { return pool_; }

 private:
  std::uint64_t requested_ = 0;
  std::uint64_t stream_ = 0;
  pool_stats pool_;
  bool from_pool_ = false;
};

/// The value, or an exception of the right type.
template <class T>
T value_or_throw(backend::outcome<T> result) {
  if (!result) throw error(std::move(result.error()));
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

}  // namespace sluice::runtime
