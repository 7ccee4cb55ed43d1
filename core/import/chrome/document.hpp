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

/// The outer structure of a Chrome trace: splits the document into pieces of events. Private to core/import.
namespace sluice::importing {

/// Allocator for read buffers: resizing does not initialize the new bytes.
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
  enum class what : std::uint8_t { events, member, end };
  /// Bytes before the events, and half of those after them, that a parser may read and write.
  static constexpr std::size_t margin = 64;

  what holds = what::end;
  unfilled_bytes buffer;
  std::size_t begin = 0, end = 0;  ///< The text of whole array elements, with what separates them, in `buffer`.
  std::uint64_t offset = 0;        ///< Offset of `begin` in the (inflated) content.
  std::string name, value;         ///< Name and value of a member; the value as JSON text.
  bool cut = false;                ///< The value was too long and is incomplete.
  double share = 0;                ///< Share of the input read so far.

  [[nodiscard]] std::string_view text() const { return {buffer.data() + begin, end - begin}; }
};

/// The events of a document that were skipped because one was broken and its end could not be found.
struct chrome_gap {
  std::uint64_t events = 0;
  std::uint64_t bytes = 0;
  std::uint64_t offset = 0;  ///< Offset of the first skipped event.
};

/// Reads a document in pieces. It may be an array of events, an object with this array as its member "traceEvents",
/// events on lines of their own, or several documents one after another. Events are not parsed, unless one is broken:
/// then reading resumes at the next whole event. Holds a piece and the input after it, never the whole document. Use
/// from one thread.
class chrome_document {
 public:
  static constexpr std::size_t piece_bytes = std::size_t{256} << 10;
  static constexpr std::size_t longest_event = std::size_t{64} << 20;
  static constexpr std::size_t longest_member = std::size_t{4} << 20;

  explicit chrome_document(input& source) : source_(source) {}

  /// Reads the next piece in document order. Errors: io, corrupt, with the offset. A document that ends too early is
  /// not an error: see `truncated`.
  [[nodiscard]] result<void> next(chrome_piece& into);

  /// True if the document ended before its last bracket. The format allows an array without its end.
  [[nodiscard]] bool truncated() const { return truncated_; }
  /// Bytes of the event that the end of the document cut off.
  [[nodiscard]] std::uint64_t lost_bytes() const { return lost_bytes_; }
  /// The events that were skipped.
  [[nodiscard]] const chrome_gap& gap() const { return gap_; }
  /// The number of documents in the file.
  [[nodiscard]] std::uint64_t documents() const { return documents_; }
  /// Offset of text after the events that is not JSON; error::no_offset: none. Text behind it is not read.
  [[nodiscard]] std::uint64_t ill_formed_from() const { return ill_formed_from_; }
  /// True if there was an array of events, even an empty one.
  [[nodiscard]] bool has_events() const { return has_events_; }
  /// The offset of the next piece.
  [[nodiscard]] std::uint64_t offset() const { return offset_; }

 private:
  enum class place : std::uint8_t { outside, in_object, in_array, behind, ended };

  [[nodiscard]] result<void> begin();
  [[nodiscard]] result<void> member(chrome_piece& into);
  [[nodiscard]] result<void> events(chrome_piece& into);
  void take_events(chrome_piece& into, std::size_t end, std::size_t behind);
  /// Reads a string, after its opening quote, without decoding it. False at the end of the document.
  [[nodiscard]] result<bool> read_string(std::string& into);
  [[nodiscard]] result<void> read_value(chrome_piece& into);
  /// The next byte, or -1 at the end.
  [[nodiscard]] result<int> peek();
  [[nodiscard]] result<int> peek_solid();
  void skip() {
    ++at_;
    ++offset_;
  }
  [[nodiscard]] tl::unexpected<error> wrong(const char* what) const;
  /// Returns an error, unless there were events before: then the document ends here.
  [[nodiscard]] result<void> end_or_fail(const char* what);
  [[nodiscard]] result<void> follow();
  void begin_document(bool object);
  [[nodiscard]] bool begins_with_event();
  [[nodiscard]] static bool is_broken(const chrome_piece& of, std::size_t from);
  void lose(std::uint64_t events, std::uint64_t bytes, std::uint64_t offset);
  [[nodiscard]] std::size_t pass_over(chrome_piece& in, std::size_t from);
  [[nodiscard]] array_piece scan(chrome_piece& in);

  input& source_;
  unfilled_bytes rest_;  ///< Read from the input, not yet part of a piece.
  std::size_t at_ = 0;   ///< Position in `rest_`.
  std::uint64_t offset_ = 0;
  place place_ = place::outside;
  bool object_ = false;
  bool lines_ = false;       ///< Events stand on lines of their own, in no array.
  bool in_members_ = false;  ///< True until something follows the bracket that ended the events.
  bool at_end_ = false;      ///< The input has ended.
  bool truncated_ = false;
  std::uint64_t lost_bytes_ = 0;
  chrome_gap gap_;
  std::uint64_t documents_ = 0;
  std::uint64_t ill_formed_from_ = error::no_offset;
  bool has_events_ = false;
};

}  // namespace sluice::importing
