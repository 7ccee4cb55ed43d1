#pragma once

#include <cstdint>
#include <string>
#include <string_view>

/// Builds a pickle opcode by opcode.
namespace sluice::testing {

class pickle_bytes {
 public:
  explicit pickle_bytes(int protocol = 4) {
    code('\x80');
    code(static_cast<char>(protocol));
  }

  pickle_bytes& code(char c) {
    bytes_ += c;
    return *this;
  }
  pickle_bytes& raw(std::string_view bytes) {
    bytes_ += bytes;
    return *this;
  }
  pickle_bytes& text(std::string_view words) {
    code('X');
    little(words.size(), 4);
    return raw(words);
  }
  pickle_bytes& integer(std::int64_t n) {
    code('\x8a').code(8);
    return little(static_cast<std::uint64_t>(n), 8);
  }
  pickle_bytes& little(std::uint64_t n, int bytes) {
    for (int i = 0; i < bytes; ++i) code(static_cast<char>(n >> (8 * i)));
    return *this;
  }
  /// Returns the complete pickle, with the final STOP opcode.
  [[nodiscard]] std::string end() const { return bytes_ + '.'; }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

}  // namespace sluice::testing
