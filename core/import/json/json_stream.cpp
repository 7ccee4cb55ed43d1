#include "core/import/json/json_stream.hpp"

#include <string>

#include "core/import/common/number.hpp"

namespace sluice::importing {
namespace {

constexpr std::size_t buffer_of_json_bytes = std::size_t{64} << 10;

void append_utf8(std::string& to, unsigned code) {
  const auto byte = [&](unsigned bits) { to += static_cast<char>(static_cast<unsigned char>(bits)); };
  if (code < 0x80) {
    byte(code);
  } else if (code < 0x800) {
    byte(0xc0 | code >> 6);
    byte(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    byte(0xe0 | code >> 12);
    byte(0x80 | (code >> 6 & 0x3f));
    byte(0x80 | (code & 0x3f));
  } else {
    byte(0xf0 | code >> 18);
    byte(0x80 | (code >> 12 & 0x3f));
    byte(0x80 | (code >> 6 & 0x3f));
    byte(0x80 | (code & 0x3f));
  }
}

bool is_of_word(int byte) {
  return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '+' ||
         byte == '-' || byte == '.';
}

}  // namespace

std::int64_t json_stream::integer() const { return parse_integer(text_, true).value_or(0); }

tl::unexpected<error> json_stream::wrong(const char* subject) const {
  return fail(error_code::corrupt, subject, {}, {}, offset_);
}

result<int> json_stream::peek() {
  if (at_ == filled_) {
    if (ended_) return -1;
    buffer_.resize(buffer_of_json_bytes);
    const auto got = source_(buffer_);
    if (!got) return tl::unexpected<error>(got.error());
    at_ = 0;
    filled_ = *got;
    ended_ = filled_ == 0;
    if (ended_) return -1;
  }
  return static_cast<int>(static_cast<unsigned char>(buffer_[at_]));
}

result<int> json_stream::peek_solid() {
  for (;;) {
    const auto byte = peek();
    const bool blank = byte && (*byte == ' ' || *byte == '\n' || *byte == '\r' || *byte == '\t');
    const bool mark = byte && offset_ < 3 && open_.empty() && (*byte == 0xef || *byte == 0xbb || *byte == 0xbf);
    if (!blank && !mark) return byte;
    pass();
  }
}

result<json_stream::token> json_stream::next() {
  auto byte = peek_solid();
  if (byte && *byte == ',' && expects_ == expects::comma_or_end) {
    pass();
    expects_ = open_.back() == '{' ? expects::key : expects::value;
    byte = peek_solid();
  }
  if (!byte) return tl::unexpected<error>(byte.error());
  token_offset_ = offset_;
  if (*byte < 0) {
    if (expects_ == expects::nothing) return token::end;
    return wrong("the JSON ends too early");
  }
  if (expects_ == expects::nothing) return wrong("unexpected text after the JSON document");
  const char first = static_cast<char>(*byte);
  if (first == '}' || first == ']') return close(first);
  if (expects_ == expects::comma_or_end) return wrong("expected a comma or a bracket");
  if (expects_ == expects::value || expects_ == expects::value_or_end) return value(first);
  if (first != '"') return wrong("expected a member's name");
  if (auto read = read_text(); !read) return tl::unexpected<error>(read.error());
  byte = peek_solid();
  if (!byte) return tl::unexpected<error>(byte.error());
  if (*byte != ':') return wrong("expected ':' after a member's name");
  pass();
  expects_ = expects::value;
  return token::key;
}

result<json_stream::token> json_stream::open(char bracket) {
  if (open_.size() == deepest) return wrong("the JSON is nested too deeply");
  pass();
  open_.push_back(bracket);
  expects_ = bracket == '{' ? expects::key_or_end : expects::value_or_end;
  return bracket == '{' ? token::begin_object : token::begin_array;
}

result<json_stream::token> json_stream::close(char bracket) {
  const char opened = bracket == '}' ? '{' : '[';
  const bool may_end =
      expects_ == expects::comma_or_end || expects_ == expects::key_or_end || expects_ == expects::value_or_end;
  if (open_.empty() || open_.back() != opened || !may_end) return wrong("a closing bracket without an opening one");
  pass();
  open_.pop_back();
  after_value();
  return bracket == '}' ? token::end_object : token::end_array;
}

result<json_stream::token> json_stream::value(char first) {
  if (first == '{' || first == '[') return open(first);
  if (first == '"') {
    if (auto read = read_text(); !read) return tl::unexpected<error>(read.error());
    after_value();
    return token::text;
  }
  if (first == 't' || first == 'f') return read_word(token::boolean);
  if (first == 'n') return read_word(token::null);
  return read_word(token::number);
}

result<json_stream::token> json_stream::read_word(token as) {
  constexpr std::size_t longest = 64;
  text_.clear();
  for (;;) {
    const auto byte = peek();
    if (!byte) return tl::unexpected<error>(byte.error());
    if (!is_of_word(*byte)) break;
    if (text_.size() == longest) return wrong("a number that is too long");
    text_ += static_cast<char>(*byte);
    pass();
  }
  const bool is_number = !text_.empty() && (text_[0] == '-' || (text_[0] >= '0' && text_[0] <= '9'));
  const bool good = as == token::boolean ? text_ == "true" || text_ == "false"
                    : as == token::null  ? text_ == "null"
                                         : is_number || text_ == "NaN" || text_ == "Infinity";
  if (!good) return wrong("expected a value");
  after_value();
  return as;
}

result<void> json_stream::read_text() {
  pass();
  text_.clear();
  for (;;) {
    const auto byte = peek();
    if (!byte) return tl::unexpected<error>(byte.error());
    if (*byte < 0) return wrong("the JSON ends inside a string");
    pass();
    if (*byte == '"') return {};
    if (text_.size() >= longest_text) return wrong("a string longer than 16 MiB");
    if (*byte == '\\') {
      if (auto read = read_escape(); !read) return read;
    } else {
      text_ += static_cast<char>(*byte);
    }
  }
}

result<void> json_stream::read_escape() {
  constexpr std::string_view letters = "\"\\/bfnrt", means = "\"\\/\b\f\n\r\t";
  const auto byte = peek();
  if (!byte) return tl::unexpected<error>(byte.error());
  if (*byte < 0) return wrong("the JSON ends inside a string");
  if (const auto at = letters.find(static_cast<char>(*byte)); at != std::string_view::npos) {
    text_ += means[at];
    pass();
    return {};
  }
  if (*byte != 'u') return wrong("a string with an unknown escape");
  pass();
  auto code = read_hex();
  if (!code) return tl::unexpected<error>(code.error());
  constexpr unsigned replacement = 0xfffd;
  while (*code >= 0xd800 && *code < 0xdc00) {  // This is the first half of a surrogate pair.
    const auto then = peek();
    if (!then) return tl::unexpected<error>(then.error());
    if (*then != '\\') break;
    pass();
    const auto letter = peek();
    if (!letter) return tl::unexpected<error>(letter.error());
    if (*letter != 'u') {
      append_utf8(text_, replacement);
      return read_escape();
    }
    pass();
    const auto low = read_hex();
    if (!low) return tl::unexpected<error>(low.error());
    if (*low >= 0xdc00 && *low < 0xe000) {
      append_utf8(text_, 0x10000 + ((*code - 0xd800) << 10) + (*low - 0xdc00));
      return {};
    }
    append_utf8(text_, replacement);
    code = low;
  }
  append_utf8(text_, *code >= 0xd800 && *code < 0xe000 ? replacement : *code);
  return {};
}

result<unsigned> json_stream::read_hex() {
  unsigned code = 0;
  for (int i = 0; i < 4; ++i) {
    const auto byte = peek();
    if (!byte) return tl::unexpected<error>(byte.error());
    const char c = static_cast<char>(*byte < 0 ? 0 : *byte);
    const unsigned digit = c >= '0' && c <= '9'   ? static_cast<unsigned>(c - '0')
                           : c >= 'a' && c <= 'f' ? static_cast<unsigned>(c - 'a' + 10)
                           : c >= 'A' && c <= 'F' ? static_cast<unsigned>(c - 'A' + 10)
                                                  : 16U;
    if (digit == 16) return wrong("a string with an unknown escape");
    code = code * 16 + digit;
    pass();
  }
  return code;
}

result<void> json_stream::skip(token begun) {
  if (begun == token::key) {
    const auto value = next();
    if (!value) return tl::unexpected<error>(value.error());
    begun = *value;
  }
  if (begun != token::begin_object && begun != token::begin_array) return {};
  for (const std::size_t outside = open_.size() - 1; open_.size() > outside;) {
    const auto passed = next();
    if (!passed) return tl::unexpected<error>(passed.error());
  }
  return {};
}

}  // namespace sluice::importing
