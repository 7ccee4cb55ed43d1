#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

/// Reads JSON by its structural characters: brackets, colons and commas outside of strings, and the first byte of each
/// string, number or word. simdjson's first stage finds these characters and checks the encoding. A walk along the
/// characters finds the ends of values without reading the values, and takes a few instructions per structural
/// character. Private to core/import.
///
/// A walk checks the order of names, colons, values and commas in the containers that it enters. In values that it
/// skips, it checks only that there are as many closing as opening brackets.
namespace sluice::importing {

/// A value in a text, from its first structural character to the next one after it.
class json_value {
 public:
  json_value(const char* text, const std::uint32_t* first, const std::uint32_t* behind)
      : text_(text), first_(first), behind_(behind) {}

  [[nodiscard]] char front() const { return text_[*first_]; }
  [[nodiscard]] bool is_string() const { return front() == '"'; }
  [[nodiscard]] bool is_object() const { return front() == '{'; }
  [[nodiscard]] bool is_array() const { return front() == '['; }

  /// The JSON text of the value, without trailing blanks. Never empty.
  [[nodiscard]] std::string_view token() const {
    const char* const begin = text_ + *first_;
    const char* end = text_ + *behind_;
    while (is_blank(end[-1])) --end;
    return {begin, static_cast<std::size_t>(end - begin)};
  }

  /// The JSON text of the value, without trailing blanks and, if it is a string, without its quotes.
  [[nodiscard]] std::string_view unquoted() const {
    const std::string_view text = token();
    return is_string() ? std::string_view(text.data() + 1, text.size() - 2) : text;
  }

 private:
  friend class json_walk;
  static bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

  const char* text_;
  const std::uint32_t *first_, *behind_;
};

/// A position among the structural characters of a text.
class json_walk {
 public:
  /// Walks from the structural character `begin` up to `end`, excluding it. `*end` must be readable.
  json_walk(const char* text, const std::uint32_t* begin, const std::uint32_t* end)
      : text_(text), at_(begin), end_(end) {}
  /// Walks inside a value.
  explicit json_walk(const json_value& value) : json_walk(value.text_, value.first_, value.behind_) {}

  /// Calls `member(name, value)` for each member of the object that begins here, as long as `member` returns true.
  /// `name` is not decoded. Advances past the object and returns true; returns false if `member` did or if the object
  /// is invalid.
  template <class Member>
  bool object(Member&& member) {
    if (!take('{')) return false;
    if (take('}')) return true;
    constexpr std::ptrdiff_t shortest = 4;  // The shortest member has a name, a colon, a value, and a comma or bracket.
    for (;; ++at_) {
      if (end_ - at_ < shortest || text_[at_[0]] != '"' || text_[at_[1]] != ':') return false;
      const std::string_view name = json_value(text_, at_, at_ + 1).unquoted();
      const std::uint32_t* const first = at_ += 2;
      if (!pass_value() || !member(name, json_value(text_, first, at_))) return false;
      if (next() == ',') continue;
      return take('}');
    }
  }

  /// Calls `element(value)` for each element of the array that begins here. Otherwise like `object`.
  template <class Element>
  bool array(Element&& element) {
    return elements([&](json_walk& walk) {
      const std::uint32_t* const first = walk.at_;
      return walk.pass_value() && element(json_value(walk.text_, first, walk.at_));
    });
  }

  /// Like `array`, but calls `element(walk)`, which must advance the walk past the element. This avoids walking along
  /// each element twice.
  template <class Element>
  bool elements(Element&& element) {
    if (!take('[')) return false;
    if (take(']')) return true;
    do {
      if (!element(*this)) return false;
    } while (take(','));
    return take(']');
  }

  [[nodiscard]] bool at_object() const { return next() == '{'; }
  bool pass_value() {
    switch (next()) {
      case '\0':
      case ',':
      case ':':
      case '}':
      case ']':
        return false;
      case '{':
      case '[':
        return pass_brackets();
      default:
        ++at_;
        return true;
    }
  }
  [[nodiscard]] bool at_end() const { return at_ == end_; }

 private:
  [[nodiscard]] char next() const { return at_ == end_ ? '\0' : text_[*at_]; }
  bool take(char wanted) {
    if (next() != wanted) return false;
    ++at_;
    return true;
  }
  bool pass_brackets();

  const char* text_;
  const std::uint32_t *at_, *end_;
};

enum class json_fault : std::uint8_t { none, not_utf8, other };

/// Finds the structural characters of texts, one text at a time. Use from one thread.
class json_index {
 public:
  /// The number of bytes after a text that must be readable. Their values do not matter.
  static constexpr std::size_t margin = 64;

  json_index();
  ~json_index();
  json_index(const json_index&) = delete;
  json_index& operator=(const json_index&) = delete;

  /// Finds the structural characters of a text of less than 4 GiB. Fails if the text is not UTF-8, has an unterminated
  /// string or a control character in a string, or consists only of blanks. O(n).
  [[nodiscard]] json_fault read(std::string_view text);

  /// Returns a walk from the start of the last text, which `read` must have read without a fault. Valid until the next
  /// `read`.
  [[nodiscard]] json_walk walk() const;

  /// Returns true if any string of the text has escapes and must therefore be decoded. O(n).
  [[nodiscard]] bool has_escapes() const;

  /// Decodes a string, given without its quotes, into `into`. Returns false if its escapes are invalid.
  [[nodiscard]] bool unescape(std::string_view string, std::string& into) const;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace sluice::importing
