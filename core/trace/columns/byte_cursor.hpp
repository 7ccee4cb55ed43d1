#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

/// Reads numbers and varints from bytes that may be damaged or hostile, and appends varints to bytes.
namespace sluice::trace {

/// Reads numbers and bytes from a span, front to back. A read past the end returns zeros; from then on `failed` is
/// true.
class byte_cursor {
 public:
  explicit byte_cursor(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <class T>
  T get() {
    T value{};
    if (bytes_.size() - at_ < sizeof value) return fail_with(value);
    std::memcpy(&value, bytes_.data() + at_, sizeof value);
    at_ += sizeof value;
    return value;
  }

  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (at_ == bytes_.size()) return fail_with(value);
      const auto byte = static_cast<std::uint64_t>(bytes_[at_++]);
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    return fail_with(value);
  }

  std::span<const std::byte> take(std::size_t count) {
    if (bytes_.size() - at_ < count) {
      failed_ = true;
      return {};
    }
    at_ += count;
    return bytes_.subspan(at_ - count, count);
  }

  [[nodiscard]] bool failed() const { return failed_; }
  [[nodiscard]] bool at_end() const { return at_ == bytes_.size(); }
  [[nodiscard]] std::size_t at() const { return at_; }
  [[nodiscard]] std::size_t left() const { return bytes_.size() - at_; }

 private:
  template <class T>
  T fail_with(T) {
    failed_ = true;
    at_ = bytes_.size();
    return T{};
  }
  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
  bool failed_ = false;
};

/// Appends `value` as a varint: seven bits per byte, lowest bits first. The top bit of a byte is set if more bytes
/// follow.
inline void put_varint(std::vector<std::byte>& out, std::uint64_t value) {
  while (value >= 0x80) {
    out.push_back(static_cast<std::byte>(value | 0x80));
    value >>= 7;
  }
  out.push_back(static_cast<std::byte>(value));
}

}  // namespace sluice::trace
