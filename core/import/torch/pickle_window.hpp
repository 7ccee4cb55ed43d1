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

/// The bytes of a source, some at a time.
class pickle_window {
 public:
  static constexpr std::size_t least = 16;

  /// `source` must outlive it. `bytes` are asked for at a time.
  pickle_window(const pickle_source& source, std::size_t bytes) : source_(source), bytes_(std::max(bytes, least)) {}

  [[nodiscard]] std::size_t left() const { return static_cast<std::size_t>(end_ - at_); }
  /// Of the next byte.
  [[nodiscard]] std::uint64_t offset() const { return read_ - left(); }
  /// Of one that was taken since the last `fill`.
  [[nodiscard]] std::uint64_t offset_of(const unsigned char* byte) const {
    return read_ - static_cast<std::size_t>(end_ - byte);
  }
  [[nodiscard]] const unsigned char* at() const { return at_; }
  const unsigned char* take(std::size_t size) { return std::exchange(at_, at_ + size); }
  /// That it holds, seen or not.
  [[nodiscard]] std::size_t bytes() const { return capacity_; }
  [[nodiscard]] bool ended() const { return ended_; }
  /// How often it asked its source.
  [[nodiscard]] std::uint64_t reads() const { return reads_; }
  [[nodiscard]] const std::optional<error>& failure() const { return failure_; }

  /// Reads until `wanted` bytes are left; false if there are no more, or `most` could not hold them. What is claimed costs nothing until it
  /// has come.
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
