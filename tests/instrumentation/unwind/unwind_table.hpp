#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

/// Hand-made unwind tables that resemble those of a compiler.
namespace sluice::test {

class unwind_table {
 public:
  static constexpr std::int64_t code = 0x10000;  ///< Start of the function, relative to the start of the table.
  static constexpr std::int64_t code_bytes = 256;

  /// Writes .eh_frame_hdr, a common entry, and an entry for one function; `instructions`: at most 15 bytes. The common
  /// entry says that the frame ends at rsp + 8. `augmentation`: "zR", optionally followed by one more letter without
  /// data.
  unwind_table(const char* augmentation, std::initializer_list<int> instructions) {
    u8({1, 0x1b, 0x03, 0x3b}), i32(16), i32(1), i32(code);
    const std::int64_t place_of_entry = size();
    i32(0);
    const std::int64_t common = size();
    i32(24), i32(0), u8({1});
    for (const char* letter = augmentation; *letter != '\0'; ++letter) u8({*letter});
    u8({0, 1, 0x78, 16, 1, 0x1b});  // units of 1 and of -8; return address column; pointer encoding
    u8({0x0c, 7, 8, 0x90, 1});
    fill(common + 28);
    const std::int64_t entry = size();
    i32(28), i32(entry + 4 - common);
    i32(code - size());
    i32(code_bytes);
    u8({0}), u8(instructions);
    fill(entry + 32);
    i32(0);
    for (unsigned i = 0; i < 4; ++i) {
      bytes_[static_cast<std::size_t>(place_of_entry) + i] = static_cast<std::uint8_t>(entry >> (8 * i));
    }
  }
  [[nodiscard]] const std::vector<std::uint8_t>& bytes() const { return bytes_; }

 private:
  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(bytes_.size()); }
  void u8(std::initializer_list<int> values) {
    for (const int v : values) bytes_.push_back(static_cast<std::uint8_t>(v));
  }
  void i32(std::int64_t value) {
    for (unsigned shift = 0; shift < 32; shift += 8) bytes_.push_back(static_cast<std::uint8_t>(value >> shift));
  }
  void fill(std::int64_t until) {
    while (size() < until) bytes_.push_back(0);
  }
  std::vector<std::uint8_t> bytes_;
};

}  // namespace sluice::test
