#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

/// JSON by its structural characters: brackets, colons, commas, and the first byte of each string, number or word, none of them inside a
/// string. simdjson's first stage finds them, and checks the encoding; who walks along them knows where each value ends without a look at
/// what is between, and passes over what nobody wants in a few instructions a character. Private to core/import.
///
/// A walk checks that names, colons, values and commas follow one another as they should wherever it comes; a value that is passed over
/// may hold anything that has as many brackets that close as brackets that open.
namespace sluice::importing {

/// A value in a text, from its first structural character up to the next that is not its own.
class json_value {
 public:
  json_value(const char* text, const std::uint32_t* first, const std::uint32_t* behind)
      : text_(text), first_(first), behind_(behind) {}

  [[nodiscard]] char front() const { return text_[*first_]; }
  [[nodiscard]] bool is_string() const { return front() == '"'; }
  [[nodiscard]] bool is_object() const { return front() == '{'; }
  [[nodiscard]] bool is_array() const { return front() == '['; }

  /// As it is written, without blanks behind it. Never empty.
  [[nodiscard]] std::string_view token() const {
    const char* const begin = text_ + *first_;
    const char* end = text_ + *behind_;
    while (is_blank(end[-1])) --end;
    return {begin, static_cast<std::size_t>(end - begin)};
  }

  /// The same without a string's quotes.
  [[nodiscard]] std::string_view unquoted() const {
    const std::string_view all = token();
    return is_string() ? std::string_view(all.data() + 1, all.size() - 2) : all;
  }

 private:
  friend class json_walk;
  static bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

  const char* text_;
  const std::uint32_t *first_, *behind_;
};

/// A place among the structural characters of a text.
class json_walk {
 public:
  /// `end`: the first that is not to be read; it may be looked at.
  json_walk(const char* text, const std::uint32_t* begin, const std::uint32_t* end)
      : text_(text), at_(begin), end_(end) {}
  /// Into a value.
  explicit json_walk(const json_value& value) : json_walk(value.text_, value.first_, value.behind_) {}

  /// Calls `member(name, value)` for each member of the object that begins here, with the name as it is written; goes on while that
  /// returns true, and ends behind the object. False if it stopped before.
  template <class Member>
  bool object(Member&& member) {
    if (!take('{')) return false;
    if (take('}')) return true;
    constexpr std::ptrdiff_t shortest = 4;  // A name, a colon, a value, and what follows.
    for (;; ++at_) {
      if (end_ - at_ < shortest || text_[at_[0]] != '"' || text_[at_[1]] != ':') return false;
      const std::string_view name = json_value(text_, at_, at_ + 1).unquoted();
      const std::uint32_t* const first = at_ += 2;
      if (!pass_value() || !member(name, json_value(text_, first, at_))) return false;
      if (next() == ',') continue;
      return take('}');
    }
  }

  /// The same with `element(value)` for each element of the array.
  template <class Element>
  bool array(Element&& element) {
    return elements([&](json_walk& walk) {
      const std::uint32_t* const first = walk.at_;
      return walk.pass_value() && element(json_value(walk.text_, first, walk.at_));
    });
  }

  /// The same with `element(walk)`, which is to go on behind the element: so that nothing is passed over that is walked through after.
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

/// Finds the structural characters of one text after the other. One thread owns it.
class json_index {
 public:
  /// Readable bytes that must lie behind a text, of whatever value.
  static constexpr std::size_t margin = 64;

  json_index();
  ~json_index();
  json_index(const json_index&) = delete;
  json_index& operator=(const json_index&) = delete;

  /// Reads the text, of less than 4 GiB. O(n). Fails at bytes that are not UTF-8, a string without its end or with control characters,
  /// and where there is nothing but blanks.
  [[nodiscard]] json_fault read(std::string_view text);

  /// From the begin of the text that was read without a fault; valid until the next is.
  [[nodiscard]] json_walk walk() const;

  /// Whether a string of the text may be something else than what is written. O(n).
  [[nodiscard]] bool has_escapes() const;

  /// Puts what a string of the text stands for, given without its quotes, into `into`. False if its escapes make no sense.
  [[nodiscard]] bool unescape(std::string_view string, std::string& into) const;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace sluice::importing
