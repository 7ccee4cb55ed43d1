#pragma once

#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

namespace sluice::capture {

/// Reads many pieces of this process's memory by one system call (process_vm_readv on itself), so that memory that
/// another thread has freed is an error and not a fault. The pieces are read one after the other, not at one time. Not
/// thread-safe.
class memory_batch {
 public:
  static constexpr std::size_t max_parts = 1024;  ///< The system's limit (UIO_MAXIOV).

  /// Forgets all parts.
  void clear() noexcept { count_ = bytes_ = 0; }

  /// Adds `bytes` bytes at address `source`, to be read to `to`. Ignored if the batch is full.
  void add(std::uint64_t source, void* to, std::size_t bytes) noexcept {
    if (count_ == max_parts) return;
    there_[count_] = {reinterpret_cast<void*>(source), bytes};
    here_[count_++] = {to, bytes};
    bytes_ += bytes;
  }

  [[nodiscard]] std::size_t count() const noexcept { return count_; }

  /// Reads the parts in the order in which they were added, up to the first that is not readable. Returns the number of
  /// parts that were read whole.
  [[nodiscard]] std::size_t read() noexcept {
    const ssize_t got = process_vm_readv(getpid(), here_, count_, there_, count_, 0);
    if (got <= 0) return 0;
    auto left = static_cast<std::size_t>(got);
    if (left == bytes_) return count_;
    std::size_t whole = 0;
    for (; whole < count_ && here_[whole].iov_len <= left; ++whole) left -= here_[whole].iov_len;
    return whole;
  }

  /// Reads one piece. Returns false if it is not readable. Replaces the batch's parts.
  [[nodiscard]] bool read_one(std::uint64_t source, void* to, std::size_t bytes) noexcept {
    clear();
    add(source, to, bytes);
    return read() == 1;
  }

 private:
  iovec here_[max_parts], there_[max_parts];
  std::size_t count_ = 0, bytes_ = 0;
};

}  // namespace sluice::capture
