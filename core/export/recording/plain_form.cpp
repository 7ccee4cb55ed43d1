#include "core/export/recording/plain_form.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "core/base/utf8.hpp"

namespace sluice::exports {
namespace {

/// A character that looks like an ASCII character and is outside of the blocks that are shifted copies of ASCII.
struct look_alike {
  std::uint32_t code;
  char plain;
};
constexpr std::array look_alikes = {
    look_alike{0x2024, '.'},  look_alike{0x3002, '.'}, look_alike{0xff61, '.'},  look_alike{0x2044, '/'},
    look_alike{0x2215, '/'},  look_alike{0x29f8, '/'}, look_alike{0x2216, '\\'}, look_alike{0x29f5, '\\'},
    look_alike{0xfe68, '\\'}, look_alike{0x2236, ':'}, look_alike{0xa789, ':'},  look_alike{0xfe55, ':'},
    look_alike{0xfe66, '='},  look_alike{0xfe6b, '@'}, look_alike{0x2010, '-'},  look_alike{0x2011, '-'}};

bool is_invisible(std::uint32_t code) {
  return code == 0xad || (code >= 0x200b && code <= 0x200f) || (code >= 0x202a && code <= 0x202e) ||
         (code >= 0x2060 && code <= 0x2064) || code == 0xfeff;
}

/// Returns the ASCII character that a character looks like, or 0 if there is none.
char get_plain(std::uint32_t code) {
  if (code < 0x80) return static_cast<char>(code);
  // These are full-width characters.
  if (code >= 0xff01 && code <= 0xff5e) return static_cast<char>(code - 0xff01 + '!');
  // The mathematical letters are 13 alphabets of 52 letters. Digits follow them.
  if (code >= 0x1d400 && code <= 0x1d6a3) {
    const auto letter = static_cast<char>((code - 0x1d400) % 52);
    return static_cast<char>(letter < 26 ? 'A' + letter : 'a' + letter - 26);
  }
  if (code >= 0x1d7ce && code <= 0x1d7ff) return static_cast<char>('0' + (code - 0x1d7ce) % 10);
  const auto* found =
      std::find_if(look_alikes.begin(), look_alikes.end(), [&](auto each) { return each.code == code; });
  return found == look_alikes.end() ? '\0' : found->plain;
}

/// True for characters that may replace their encoded form, because they do not end a word.
bool may_stand_alone(char c) {
  return c > ' ' && c < 0x7f && std::string_view("'\"`,;()<>|").find(c) == std::string_view::npos;
}

std::optional<std::uint32_t> number_in(std::string_view digits, std::uint32_t base) {
  if (digits.empty() || digits.size() > 6) return std::nullopt;
  std::uint32_t value = 0;
  for (const char c : digits) {
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : 99;
    if (digit >= static_cast<int>(base)) return std::nullopt;
    value = value * base + static_cast<std::uint32_t>(digit);
  }
  return value;
}

std::uint32_t get_code(std::string_view sequence) {
  const auto at = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(sequence[i])); };
  switch (sequence.size()) {
    case 2:
      return (at(0) & 0x1fU) << 6U | (at(1) & 0x3fU);
    case 3:
      return (at(0) & 0x0fU) << 12U | (at(1) & 0x3fU) << 6U | (at(2) & 0x3fU);
    default:
      return (at(0) & 0x07U) << 18U | (at(1) & 0x3fU) << 12U | (at(2) & 0x3fU) << 6U | (at(3) & 0x3fU);
  }
}

/// Adds characters one by one. When the text ends with the encoded form of a character, the character replaces that
/// form. The result may complete another encoded form, so that "%252F" becomes "/". Each replacement shortens the text,
/// so all replacements together take O(n).
class plain_writer {
 public:
  void add(char c) {
    made_ += c;
    while (shorten()) {
    }
  }
  [[nodiscard]] std::string take() { return std::move(made_); }

 private:
  bool shorten() {
    const char last = made_.back();
    if (static_cast<unsigned char>(last) >= 0x80) return sequence();
    if (last == ';') return entity();
    return number_in(std::string_view(&last, 1), 16) && (percent() || escape(2, 'x') || escape(4, 'u'));
  }

  [[nodiscard]] std::string_view tail(std::size_t length) const {
    return std::string_view(made_).substr(made_.size() - std::min(length, made_.size()));
  }
  bool replace(std::size_t length, char by) {
    made_.resize(made_.size() - length);
    made_ += by;
    return true;
  }
  bool replace_code(std::size_t length, std::optional<std::uint32_t> code) {
    const char plain = code ? get_plain(*code) : '\0';
    return may_stand_alone(plain) && replace(length, plain);
  }

  /// Decodes "%2F". Also decodes bytes of UTF-8, which may follow one another.
  bool percent() {
    const std::string_view end = tail(3);
    if (end.size() < 3 || end[0] != '%') return false;
    const auto code = number_in(end.substr(1), 16);
    if (code && *code >= 0x80) return replace(3, static_cast<char>(*code));
    return replace_code(3, code);
  }
  /// Decodes "\x2f" and "\u002f".
  bool escape(std::size_t digits, char letter) {
    const std::string_view end = tail(digits + 2);
    return end.size() == digits + 2 && end[0] == '\\' && end[1] == letter &&
           replace_code(digits + 2, number_in(end.substr(2), 16));
  }
  /// Decodes "&#47;" and "&#x2f;".
  bool entity() {
    constexpr std::size_t longest = 10;
    const std::string_view end = tail(longest);
    const std::size_t begin = end.rfind("&#");
    if (begin == std::string_view::npos) return false;
    const std::string_view whole = end.substr(begin), digits = whole.substr(2, whole.size() - 3);
    const bool hexadecimal = digits.starts_with('x') || digits.starts_with('X');
    return replace_code(whole.size(), hexadecimal ? number_in(digits.substr(1), 16) : number_in(digits, 10));
  }
  /// Decodes a character of two to four bytes.
  bool sequence() {
    for (std::size_t length = 2; length <= 4; ++length) {
      const std::string_view end = tail(length);
      if (end.size() < length || utf8_length(end) != length) continue;
      const std::uint32_t code = get_code(end);
      if (!is_invisible(code)) return replace_code(length, code);
      made_.resize(made_.size() - length);
      return !made_.empty();
    }
    return false;
  }

  std::string made_;
};

}  // namespace

std::string plain_form(std::string_view text) {
  plain_writer output;
  for (const char c : text) output.add(c);
  return output.take();
}

}  // namespace sluice::exports
