#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/import/byte_source.hpp"

namespace sluice::importing {

/// Reads the tokens of one JSON document piece by piece, so that memory does not grow with the document. Bytes go in;
/// keys, values and brackets come out, one at a time. Accepts NaN and Infinity, which Python writes. Not thread-safe.
class json_stream {
 public:
  enum class token : std::uint8_t {
    begin_object,
    end_object,
    begin_array,
    end_array,
    key,
    text,
    number,
    boolean,
    null,
    end  ///< The end of the document.
  };
  static constexpr std::size_t deepest = 512;
  static constexpr std::size_t longest_text = std::size_t{16} << 20;

  explicit json_stream(byte_source source) : source_(std::move(source)) {}

  /// Reads the next token. Errors: those of the source; corrupt, with the offset of the fault but without a file name.
  [[nodiscard]] result<token> next();
  /// Skips the rest of a value. `begun` is the last token. If `begun` is a key, skips the value of that key. If it
  /// opened a container, skips the rest of that container. Otherwise, does nothing.
  [[nodiscard]] result<void> skip(token begun);

  /// The text of the last token, which is a decoded key or string, a number as written, "true" or "false". Valid until
  /// the next token.
  [[nodiscard]] std::string_view text() const { return text_; }
  /// The last token as an integer, without its fraction; 0 if the token is not a number or exceeds 64 bits.
  [[nodiscard]] std::int64_t integer() const;
  /// The offset of the last token in the document.
  [[nodiscard]] std::uint64_t offset() const { return token_offset_; }
  /// The number of open containers.
  [[nodiscard]] std::size_t depth() const { return open_.size(); }

 private:
  enum class expects : std::uint8_t { value, value_or_end, key, key_or_end, comma_or_end, nothing };

  [[nodiscard]] result<int> peek();
  [[nodiscard]] result<int> peek_solid();
  void pass() {
    ++at_;
    ++offset_;
  }
  [[nodiscard]] tl::unexpected<error> wrong(const char* subject) const;
  [[nodiscard]] result<token> open(char bracket);
  [[nodiscard]] result<token> close(char bracket);
  [[nodiscard]] result<token> value(char first);
  [[nodiscard]] result<token> read_word(token as);
  [[nodiscard]] result<void> read_text();
  [[nodiscard]] result<void> read_escape();
  [[nodiscard]] result<unsigned> read_hex();
  void after_value() { expects_ = open_.empty() ? expects::nothing : expects::comma_or_end; }

  byte_source source_;
  std::vector<std::byte> buffer_;
  std::size_t at_ = 0, filled_ = 0;
  bool ended_ = false;
  std::uint64_t offset_ = 0, token_offset_ = 0;
  std::vector<char> open_;  ///< The opening brackets of the open containers.
  expects expects_ = expects::value;
  std::string text_;
};

}  // namespace sluice::importing
