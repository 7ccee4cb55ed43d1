#include "core/import/chrome/document.hpp"

#include <algorithm>
#include <cstring>

#include "core/import/chrome/resume.hpp"
#include "core/import/chrome/scan.hpp"

namespace sluice::importing {
namespace {

constexpr std::size_t read_bytes = std::size_t{64} << 10;

bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

/// Returns the position of the first byte that is neither a blank nor a comma.
std::size_t first_solid(std::string_view text) {
  const std::size_t at = text.find_first_not_of(" \n\r\t,");
  return at == std::string_view::npos ? text.size() : at;
}

/// True if the text starts with an object that is invalid before its end.
bool is_broken_text(std::string_view text) {
  text.remove_prefix(first_solid(text));
  return text.starts_with('{') && read_object_strictly(text).status == strict_object::state::broken;
}

}  // namespace

tl::unexpected<error> chrome_document::wrong(const char* subject) const {
  return fail(error_code::corrupt, subject, source_.path(), {}, offset_);
}

result<int> chrome_document::peek() {
  if (at_ == rest_.size()) {
    if (at_end_) return -1;
    rest_.resize(read_bytes);
    at_ = 0;
    const auto got = source_.read(std::as_writable_bytes(std::span(rest_)));
    rest_.resize(got ? *got : 0);
    if (!got) return tl::unexpected<error>(got.error());
    at_end_ = *got == 0;
    if (at_end_) return -1;
  }
  return static_cast<unsigned char>(rest_[at_]);
}

result<int> chrome_document::peek_solid() {
  for (;;) {
    const auto byte = peek();
    if (!byte || *byte < 0 || !is_blank(static_cast<char>(*byte))) return byte;
    skip();
  }
}

result<void> chrome_document::next(chrome_piece& into) {
  into.holds = chrome_piece::content_kind::end;
  into.name.clear();
  into.value.clear();
  into.cut = false;
  if (place_ == place::outside)
    if (const auto begun = begin(); !begun) return begun;
  result<void> done;
  while (done && into.holds == chrome_piece::content_kind::end && place_ != place::ended)
    done = place_ == place::in_array ? events(into) : place_ == place::behind ? follow() : member(into);
  into.share = source_.share_read();
  return done;
}

result<void> chrome_document::begin() {
  for (const int mark : {0xef, 0xbb, 0xbf}) {
    const auto byte = peek();
    if (!byte) return tl::unexpected<error>(byte.error());
    if (*byte != mark) break;
    skip();
  }
  const auto byte = peek_solid();
  if (!byte) return tl::unexpected<error>(byte.error());
  if (*byte != '{' && *byte != '[') return wrong("expected an object or an array");
  begin_document(*byte == '{');
  return {};
}

/// Begins a document. Call at its opening bracket.
void chrome_document::begin_document(bool object) {
  ++documents_;
  lines_ = object && begins_with_event();
  object_ = object && !lines_;
  place_ = object_ ? place::in_object : place::in_array;
  has_events_ = has_events_ || !object_;
  if (!lines_) skip();
}

/// True if the object that starts here is an event, so each line of the file is an event. Checks only the bytes read so
/// far.
bool chrome_document::begins_with_event() {
  return read_object_strictly({rest_.data() + at_, rest_.size() - at_}).has_phase;
}

/// Continues after a document. The end of the file or another document must follow.
result<void> chrome_document::follow() {
  const auto byte = peek_solid();
  if (!byte) return tl::unexpected<error>(byte.error());
  if (*byte < 0) {
    place_ = place::ended;
  } else if (*byte == '{' || *byte == '[') {
    begin_document(*byte == '{');
  } else if (*byte == ',' && !object_) {
    place_ = place::in_array;  // The previous bracket was superfluous.
  } else {
    return end_or_fail("text that is not JSON follows the document");
  }
  return {};
}

result<void> chrome_document::end_or_fail(const char* subject) {
  if (!has_events_) return wrong(subject);
  ill_formed_from_ = offset_;
  place_ = place::ended;
  return {};
}

result<bool> chrome_document::read_string(std::string& into) {
  for (bool escaped = false;;) {
    const auto byte = peek();
    if (!byte) return tl::unexpected<error>(byte.error());
    if (*byte < 0) return false;
    skip();
    if (!escaped && *byte == '"') return true;
    escaped = !escaped && *byte == '\\';
    if (into.size() <= longest_member) into += static_cast<char>(*byte);
  }
}

/// Reads one member of the object, or the object's end.
result<void> chrome_document::member(chrome_piece& into) {
  auto byte = peek_solid();
  while (byte && *byte == ',') {
    skip();
    byte = peek_solid();
  }
  if (!byte) return tl::unexpected<error>(byte.error());
  if (*byte < 0) {
    truncated_ = true;
    place_ = place::ended;
    return {};
  }
  if (*byte == '}') {
    skip();
    place_ = place::behind;
    return {};
  }
  if (*byte == '{' && in_members_) {  // The previous bracket did not end the array, because more events follow.
    place_ = place::in_array;
    return {};
  }
  if (*byte != '"') return end_or_fail("expected a member's name");
  skip();
  const auto whole = read_string(into.name);
  if (!whole) return tl::unexpected<error>(whole.error());
  byte = peek_solid();
  if (byte && *byte == ':') {
    skip();
    byte = peek_solid();
  } else if (byte && *byte >= 0) {
    return end_or_fail("expected ':' after a member's name");
  }
  if (!byte) return tl::unexpected<error>(byte.error());
  if (into.name == "traceEvents" && *byte == '[') {
    skip();
    into.name.clear();
    place_ = place::in_array;
    has_events_ = true;
    return {};
  }
  in_members_ = false;
  return read_value(into);
}

result<void> chrome_document::read_value(chrome_piece& into) {
  const auto keep = [&](char c) {
    if (into.value.size() < longest_member) {
      into.value += c;
    } else {
      into.cut = true;
    }
  };
  into.holds = chrome_piece::content_kind::member;
  into.offset = offset_;
  std::uint64_t depth = 0;
  bool in_string = false;
  for (bool escaped = false;;) {
    const auto byte = peek();
    if (!byte) return tl::unexpected<error>(byte.error());
    if (*byte < 0) {
      truncated_ = true;
      into.cut = true;
      place_ = place::ended;
      return {};
    }
    const char c = static_cast<char>(*byte);
    if (in_string) {
      in_string = escaped || c != '"';
      escaped = !escaped && c == '\\';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if (depth == 0 && (c == ',' || c == '}' || c == ']')) {
      return {};
    } else if (c == '}' || c == ']') {
      --depth;
    }
    keep(c);
    skip();
  }
}

/// Ends `into` at `end`. Keeps the bytes in its buffer from `behind` on for the next piece.
void chrome_document::take_events(chrome_piece& into, std::size_t end, std::size_t behind) {
  rest_.resize(into.buffer.size() - behind);
  std::copy(into.buffer.begin() + static_cast<std::ptrdiff_t>(behind), into.buffer.end(), rest_.begin());
  at_ = 0;
  offset_ += behind - chrome_piece::margin;
  into.buffer.resize(std::max(end, chrome_piece::margin));
  const std::string_view text{into.buffer.data() + chrome_piece::margin, into.buffer.size() - chrome_piece::margin};
  const std::size_t blank = first_solid(text);
  into.begin = chrome_piece::margin + blank;
  into.end = into.buffer.size();
  into.offset += blank;
  if (blank < text.size()) into.holds = chrome_piece::content_kind::events;
  into.buffer.resize(into.end + 2 * chrome_piece::margin, ' ');
}

bool chrome_document::is_broken(const chrome_piece& subject, std::size_t start) {
  return is_broken_text({subject.buffer.data() + start, subject.buffer.size() - start});
}

void chrome_document::lose(std::uint64_t events, std::uint64_t bytes, std::uint64_t offset) {
  if (gap_.events == 0) gap_.offset = offset;
  gap_.events += events;
  gap_.bytes += bytes;
}

/// Overwrites the broken event that starts at `start`, and broken events after it, with blanks. Returns the position of
/// the next whole event, or 0 if there is none in the text read so far.
std::size_t chrome_document::pass_over(chrome_piece& in, std::size_t start) {
  const std::string_view rest{in.buffer.data() + start, in.buffer.size() - start};
  const std::size_t blank = first_solid(rest);
  const resumption next = find_next_event(rest.substr(blank), !at_end_);
  if (!next.found) return 0;
  lose(next.events_lost(), next.at, offset_ + (start - chrome_piece::margin) + blank);
  const auto begin = in.buffer.begin() + static_cast<std::ptrdiff_t>(start + blank);
  std::fill(begin, begin + static_cast<std::ptrdiff_t>(next.at), ' ');
  return start + blank + next.at;
}

/// Like scan_array for the content of `in`, but continues after broken events.
array_piece chrome_document::scan(chrome_piece& in) {
  array_piece whole;
  for (std::size_t start = chrome_piece::margin;;) {
    array_piece piece = scan_array({in.buffer.data() + start, in.buffer.size() - start});
    const std::size_t before = start - chrome_piece::margin;
    if (piece.end != 0) whole.end = before + piece.end;
    whole.closed = piece.closed;
    whole.close = before + piece.close;
    whole.broken = piece.broken;
    if (piece.closed) return whole;
    const std::size_t end = start + piece.end;
    const bool stuck = piece.end == 0 || at_end_;
    if (!piece.broken && !(stuck && is_broken(in, end))) return whole;
    start = pass_over(in, end);
    if (start == 0) return whole;
  }
}

result<void> chrome_document::events(chrome_piece& into) {
  constexpr std::size_t margin = chrome_piece::margin;
  into.offset = offset_;
  into.buffer.resize(margin + rest_.size() - at_);
  std::copy(rest_.begin() + static_cast<std::ptrdiff_t>(at_), rest_.end(), into.buffer.begin() + margin);
  at_ = rest_.size();
  for (std::size_t wanted = piece_bytes;; wanted *= 2) {
    std::size_t filled = into.buffer.size() - margin;
    into.buffer.resize(margin + std::max(wanted, filled));
    while (!at_end_ && filled < into.buffer.size() - margin) {
      const auto got = source_.read(std::as_writable_bytes(std::span(into.buffer).subspan(margin + filled)));
      if (!got) return tl::unexpected<error>(got.error());
      at_end_ = *got == 0;
      filled += *got;
    }
    into.buffer.resize(margin + filled);
    const array_piece piece = scan(into);
    if (piece.closed) {
      take_events(into, margin + piece.close, margin + piece.close + 1);
      place_ = object_ ? place::in_object : place::behind;
      in_members_ = true;
      return {};
    }
    if (at_end_) {
      take_events(into, margin + piece.end, margin + piece.end);
      const std::string_view tail(rest_.data(), rest_.size());
      lost_bytes_ = tail.size() - first_solid(tail);
      truncated_ = object_ || lost_bytes_ != 0;
      if (is_broken_text(tail)) {
        const std::size_t broken = first_solid(tail);
        lose(find_next_event(tail.substr(broken), false).events_lost(), lost_bytes_, offset_ + broken);
        lost_bytes_ = 0;
        truncated_ = false;
      } else if (object_ && tail.substr(first_solid(tail)).starts_with('"')) {
        // These are members of the document, because a broken event consumed the bracket before them.
        lost_bytes_ = 0;
        truncated_ = false;
      }
      rest_.clear();
      place_ = place::ended;
      return {};
    }
    if (piece.end != 0 && !piece.broken) {
      take_events(into, margin + piece.end, margin + piece.end);
      return {};
    }
    if (filled >= longest_event) return wrong("this event is longer than 64 MiB");
  }
}

}  // namespace sluice::importing
