#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/import/byte_source.hpp"

namespace sluice::importing {

/// The fields of a protocol-buffer message, read in pieces: large messages are entered, and only small ones are held.
/// Small ones are then for protozero. Not thread-safe.
class proto_stream {
 public:
  /// How a field is stored.
  enum class wire : std::uint8_t { varint = 0, fixed64 = 1, length = 2, fixed32 = 5 };
  struct field {
    std::uint32_t number = 0;
    wire stored = wire::varint;
    std::uint64_t value = 0;  ///< The number; of `length`: how many bytes it has.
    std::uint64_t offset = 0;
  };
  static constexpr std::size_t deepest = 16;

  explicit proto_stream(byte_source source) : source_(std::move(source)) {}

  /// The next field of the message that is open; nothing at its end. A field that was neither entered nor taken is
  /// passed over. Errors: those of the source; corrupt, with the offset and without a file.
  [[nodiscard]] result<std::optional<field>> next();
  /// Opens the message in the field that `next` gave. At its end, the message around it is open again after `leave`.
  [[nodiscard]] result<void> enter();
  void leave() { ends_.pop_back(); }
  /// The bytes of the field that `next` gave. Valid until the next call. Nothing, and the field is passed over, if they
  /// are more than `most`.
  [[nodiscard]] result<std::optional<std::string_view>> take(std::size_t most);

  [[nodiscard]] std::uint64_t offset() const { return offset_; }

 private:
  [[nodiscard]] tl::unexpected<error> wrong(const char* what) const;
  [[nodiscard]] result<bool> fill();
  [[nodiscard]] result<std::uint64_t> varint();
  [[nodiscard]] result<std::uint64_t> fixed(unsigned bytes);
  [[nodiscard]] result<void> pass(std::uint64_t bytes);

  byte_source source_;
  std::vector<std::byte> buffer_;
  std::size_t at_ = 0, filled_ = 0;
  std::uint64_t offset_ = 0;
  std::uint64_t pending_ = 0;        ///< Bytes of the field that `next` gave.
  std::vector<std::uint64_t> ends_;  ///< Of the messages that were entered.
  std::string taken_;
};

}  // namespace sluice::importing
