#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/import/chrome/scan.hpp"
#include "core/import/input.hpp"

/// Reads the outer structure of a Chrome trace, a JSON file, and splits the document into pieces of events. Private to
/// core/import.
namespace sluice::importing {

/// An allocator for read buffers that does not initialize bytes when a buffer grows.
struct unfilled_allocator : std::allocator<char> {
  template <class U>
  struct rebind {
    using other = unfilled_allocator;
  };
  void construct(char*) noexcept {}
  void construct(char* at, char value) noexcept { *at = value; }
};
using unfilled_bytes = std::vector<char, unfilled_allocator>;

/// A piece of a document: a group of events, or one other member of the top-level object.
struct chrome_piece {
  enum class content_kind : std::uint8_t { events, member, end };
  /// A parser may read and write this many bytes before the events, and twice as many after them.
  static constexpr std::size_t margin = 64;

  content_kind holds = content_kind::end;
  unfilled_bytes buffer;
  std::size_t begin = 0, end = 0;  ///< The text of whole array elements, with their separators, in `buffer`.
  std::uint64_t offset = 0;        ///< The offset of `begin` in the (inflated) content.
  std::string name, value;         ///< The name of a member, and its value as JSON text.
  bool cut = false;                ///< The value was too long and is truncated.
  double share = 0;                ///< The share of the input that has been read, 0..1.

  [[nodiscard]] std::string_view text() const { return {buffer.data() + begin, end - begin}; }
};

/// Counts the events of a document that were skipped because an event was broken and its end could not be found.
struct chrome_gap {
  std::uint64_t events = 0;
  std::uint64_t bytes = 0;
  std::uint64_t offset = 0;  ///< The offset of the first skipped event.
};

/// Reads a document in pieces. A file may have an array of events, an object whose member "traceEvents" is that array,
/// one event per line, or several documents one after another. Events are not parsed, except after a broken event, to
/// find the next whole event. This object holds a piece and the input after it, never the whole document. Use from one
/// thread.
class chrome_document {
 public:
  static constexpr std::size_t piece_bytes = std::size_t{256} << 10;
  static constexpr std::size_t longest_event = std::size_t{64} << 20;
  static constexpr std::size_t longest_member = std::size_t{4} << 20;

  explicit chrome_document(input& source) : source_(source) {}

  /// Reads the next piece, in the order of the document. Errors: io; corrupt, with the offset. A document that ends too
  /// early is not an error: `truncated` reports it.
  [[nodiscard]] result<void> next(chrome_piece& into);

  /// True if the document ended before its last bracket. (The format allows an array without its closing bracket.)
  [[nodiscard]] bool truncated() const { return truncated_; }
  /// The number of bytes of the incomplete event at the end of the document.
  [[nodiscard]] std::uint64_t lost_bytes() const { return lost_bytes_; }
  /// The events that were skipped.
  [[nodiscard]] const chrome_gap& gap() const { return gap_; }
  /// The number of documents in the file.
  [[nodiscard]] std::uint64_t documents() const { return documents_; }
  /// The offset at which text that is not JSON follows the events, or error::no_offset. Nothing after it is read.
  [[nodiscard]] std::uint64_t ill_formed_from() const { return ill_formed_from_; }
  /// True if the document has an array of events, even an empty one.
  [[nodiscard]] bool has_events() const { return has_events_; }
  /// The offset of the next piece.
  [[nodiscard]] std::uint64_t offset() const { return offset_; }

 private:
  enum class place : std::uint8_t { outside, in_object, in_array, behind, ended };

  [[nodiscard]] result<void> begin();
  [[nodiscard]] result<void> member(chrome_piece& into);
  [[nodiscard]] result<void> events(chrome_piece& into);
  void take_events(chrome_piece& into, std::size_t end, std::size_t behind);
  /// Reads a string, after its opening quote, without decoding it. Returns false if the document ends in the string.
  [[nodiscard]] result<bool> read_string(std::string& into);
  [[nodiscard]] result<void> read_value(chrome_piece& into);
  /// Returns the next byte without consuming it, or -1 at the end.
  [[nodiscard]] result<int> peek();
  [[nodiscard]] result<int> peek_solid();
  void skip() {
    ++at_;
    ++offset_;
  }
  [[nodiscard]] tl::unexpected<error> wrong(const char* subject) const;
  /// If no events have been read, returns an error. Otherwise ends the document here.
  [[nodiscard]] result<void> end_or_fail(const char* subject);
  [[nodiscard]] result<void> follow();
  void begin_document(bool object);
  [[nodiscard]] bool begins_with_event();
  [[nodiscard]] static bool is_broken(const chrome_piece& subject, std::size_t start);
  void lose(std::uint64_t events, std::uint64_t bytes, std::uint64_t offset);
  [[nodiscard]] std::size_t pass_over(chrome_piece& in, std::size_t start);
  [[nodiscard]] array_piece scan(chrome_piece& in);

  input& source_;
  unfilled_bytes rest_;  ///< Bytes that were read from the input and are not part of a piece yet.
  std::size_t at_ = 0;   ///< The current position in `rest_`.
  std::uint64_t offset_ = 0;
  place place_ = place::outside;
  bool object_ = false;
  bool lines_ = false;       ///< The document has one event per line instead of an array.
  bool in_members_ = false;  ///< True if nothing has followed the bracket that ended the events yet.
  bool at_end_ = false;      ///< The input has ended.
  bool truncated_ = false;
  std::uint64_t lost_bytes_ = 0;
  chrome_gap gap_;
  std::uint64_t documents_ = 0;
  std::uint64_t ill_formed_from_ = error::no_offset;
  bool has_events_ = false;
};

}  // namespace sluice::importing
