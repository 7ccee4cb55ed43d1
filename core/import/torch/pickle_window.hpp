#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "core/import/torch/pickle.hpp"

namespace sluice::importing {

/// The part of a source's bytes that is in a buffer. A reader of the bytes moves it forward.
class pickle_window {
 public:
  static constexpr std::size_t least = 16;

  /// `source` must outlive this object. `bytes` is the initial buffer size.
  pickle_window(const pickle_source& source, std::size_t bytes) : source_(source), bytes_(std::max(bytes, least)) {}

  [[nodiscard]] std::size_t left() const { return static_cast<std::size_t>(end_ - at_); }
  /// The offset of the next byte.
  [[nodiscard]] std::uint64_t offset() const { return read_ - left(); }
  /// Returns the offset of a byte that was taken since the last `fill`.
  [[nodiscard]] std::uint64_t get_offset(const unsigned char* byte) const {
    return read_ - static_cast<std::size_t>(end_ - byte);
  }
  [[nodiscard]] const unsigned char* at() const { return at_; }
  const unsigned char* take(std::size_t size) { return std::exchange(at_, at_ + size); }
  /// The size of the buffer.
  [[nodiscard]] std::size_t bytes() const { return capacity_; }
  [[nodiscard]] bool ended() const { return ended_; }
  /// How often the source has been read.
  [[nodiscard]] std::uint64_t reads() const { return reads_; }
  [[nodiscard]] const std::optional<error>& failure() const { return failure_; }

  /// Reads until `wanted` bytes are available. Returns false if the source ends before that, or if these bytes need a
  /// buffer of more than `most` bytes. The buffer grows only as bytes are read, never because of a size that a file
  /// claims.
  bool fill(std::uint64_t wanted, std::size_t most) {
    while (left() < wanted) {
      if (ended_) return false;
      const std::size_t kept = left();
      if (kept != 0 && at_ != buffer_.get()) std::memmove(buffer_.get(), at_, kept);
      if (kept == capacity_) {
        const std::size_t capacity = capacity_ == 0 ? bytes_ : capacity_ * 2;
        if (capacity_ != 0 && capacity > most) return false;
        std::unique_ptr<unsigned char[]> grown(new unsigned char[capacity]);
        if (kept != 0) std::memcpy(grown.get(), buffer_.get(), kept);
        buffer_ = std::move(grown);
        capacity_ = capacity;
      }
      at_ = buffer_.get();
      end_ = at_ + kept;
      ++reads_;
      auto got = source_(std::as_writable_bytes(std::span(buffer_.get() + kept, capacity_ - kept)));
      if (!got) failure_ = std::move(got.error());
      ended_ = !got || *got == 0;
      if (got) end_ += *got;
      if (got) read_ += *got;
    }
    return true;
  }

 private:
  const pickle_source& source_;
  std::size_t bytes_;
  std::unique_ptr<unsigned char[]> buffer_;
  std::size_t capacity_ = 0;
  const unsigned char* at_ = nullptr;
  const unsigned char* end_ = nullptr;
  std::uint64_t read_ = 0;
  std::uint64_t reads_ = 0;
  bool ended_ = false;
  std::optional<error> failure_;
};

}  // namespace sluice::importing
