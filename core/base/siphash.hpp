#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace sluice {

/// SipHash-2-4 with 128 bits of output (Aumasson and Bernstein, "SipHash: a fast short-input PRF"), a message
/// authentication code: without the key, nobody can compute the hash of a message. The code works only on little-endian
/// machines.
class siphash {
 public:
  using key = std::array<std::uint64_t, 2>;
  using hash = std::array<std::uint64_t, 2>;

  [[nodiscard]] static hash of(const key& secret, std::span<const std::byte> message) {
    siphash s(secret);
    std::size_t at = 0;
    for (; at + 8 <= message.size(); at += 8) s.absorb(word(message.subspan(at, 8)));
    s.absorb(word(message.subspan(at)) | static_cast<std::uint64_t>(message.size()) << 56);
    hash output{};
    s.v2_ ^= 0xee;
    output[0] = s.finish();
    s.v1_ ^= 0xdd;
    output[1] = s.finish();
    return output;
  }

 private:
  explicit siphash(const key& k)
      : v0_(0x736f'6d65'7073'6575 ^ k[0]),
        v1_(0x646f'7261'6e64'6f6d ^ k[1] ^ 0xee),
        v2_(0x6c79'6765'6e65'7261 ^ k[0]),
        v3_(0x7465'6462'7974'6573 ^ k[1]) {}

  /// Reads up to eight bytes as a little-endian number.
  static std::uint64_t word(std::span<const std::byte> bytes) {
    std::uint64_t value = 0;
    if (!bytes.empty()) std::memcpy(&value, bytes.data(), bytes.size());
    return value;
  }

  void round() {
    v0_ += v1_, v1_ = std::rotl(v1_, 13) ^ v0_, v0_ = std::rotl(v0_, 32);
    v2_ += v3_, v3_ = std::rotl(v3_, 16) ^ v2_;
    v0_ += v3_, v3_ = std::rotl(v3_, 21) ^ v0_;
    v2_ += v1_, v1_ = std::rotl(v1_, 17) ^ v2_, v2_ = std::rotl(v2_, 32);
  }

  void absorb(std::uint64_t m) {
    v3_ ^= m;
    round(), round();
    v0_ ^= m;
  }

  std::uint64_t finish() {
    round(), round(), round(), round();
    return v0_ ^ v1_ ^ v2_ ^ v3_;
  }

  std::uint64_t v0_, v1_, v2_, v3_;
};

}  // namespace sluice
