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

/// Reads the fields of a protocol-buffer message one by one, so that memory does not grow with the message. Callers
/// enter large nested messages. They take only small nested messages as a whole, which protozero then parses. Not
/// thread-safe.
class proto_stream {
 public:
  /// The wire type of a field, which tells how it is stored.
  enum class wire : std::uint8_t { varint = 0, fixed64 = 1, length = 2, fixed32 = 5 };
  struct field {
    std::uint32_t number = 0;
    wire stored = wire::varint;
    std::uint64_t value = 0;  ///< The number; for the wire type `length`, the size in bytes.
    std::uint64_t offset = 0;
  };
  static constexpr std::size_t deepest = 16;

  explicit proto_stream(byte_source source) : source_(std::move(source)) {}

  /// Returns the next field of the open message, or nullopt at its end. If the previous field was neither entered nor
  /// taken, skips its content. Errors: those of the source; corrupt, with the offset but without a file name.
  [[nodiscard]] result<std::optional<field>> next();
  /// Opens the message in the field that `next` returned. After the end of that message, `leave` returns to the
  /// enclosing one.
  [[nodiscard]] result<void> enter();
  void leave() { ends_.pop_back(); }
  /// Returns the bytes of the field that `next` returned, valid until the next call. If the field is longer than `most`
  /// bytes, skips it and returns nullopt.
  [[nodiscard]] result<std::optional<std::string_view>> take(std::size_t most);

  [[nodiscard]] std::uint64_t offset() const { return offset_; }

 private:
  [[nodiscard]] tl::unexpected<error> wrong(const char* subject) const;
  [[nodiscard]] result<bool> fill();
  [[nodiscard]] result<std::uint64_t> varint();
  [[nodiscard]] result<std::uint64_t> fixed(unsigned bytes);
  [[nodiscard]] result<void> pass(std::uint64_t bytes);

  byte_source source_;
  std::vector<std::byte> buffer_;
  std::size_t at_ = 0, filled_ = 0;
  std::uint64_t offset_ = 0;
  std::uint64_t pending_ = 0;        ///< The unread bytes of the field that `next` returned.
  std::vector<std::uint64_t> ends_;  ///< The end offsets of the open messages.
  std::string taken_;
};

}  // namespace sluice::importing
