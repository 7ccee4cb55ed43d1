#include "core/import/proto/proto_stream.hpp"

#include <algorithm>

namespace sluice::importing {
namespace {

constexpr std::size_t proto_buffer_bytes = std::size_t{64} << 10;

}  // namespace

tl::unexpected<error> proto_stream::wrong(const char* subject) const {
  return fail(error_code::corrupt, subject, {}, {}, offset_);
}

/// Reads more bytes. Returns false at the end of the content.
result<bool> proto_stream::fill() {
  if (at_ < filled_) return true;
  buffer_.resize(proto_buffer_bytes);
  const auto got = source_(buffer_);
  if (!got) return tl::unexpected<error>(got.error());
  at_ = 0;
  filled_ = *got;
  return filled_ != 0;
}

result<std::uint64_t> proto_stream::varint() {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 70; shift += 7) {
    const auto more = fill();
    if (!more) return tl::unexpected<error>(more.error());
    if (!*more) return wrong("the file ends inside a field");
    const auto byte = std::to_integer<std::uint64_t>(buffer_[at_++]);
    ++offset_;
    if (shift < 64) value |= (byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  return wrong("an unterminated number");
}

result<std::uint64_t> proto_stream::fixed(unsigned bytes) {
  std::uint64_t value = 0;
  for (unsigned i = 0; i < bytes; ++i) {
    const auto more = fill();
    if (!more) return tl::unexpected<error>(more.error());
    if (!*more) return wrong("the file ends inside a field");
    value |= std::to_integer<std::uint64_t>(buffer_[at_++]) << (8 * i);
    ++offset_;
  }
  return value;
}

result<void> proto_stream::pass(std::uint64_t bytes) {
  while (bytes != 0) {
    const auto more = fill();
    if (!more) return tl::unexpected<error>(more.error());
    if (!*more) return wrong("the file ends inside a field");
    const std::size_t size = static_cast<std::size_t>(std::min<std::uint64_t>(bytes, filled_ - at_));
    at_ += size;
    offset_ += size;
    bytes -= size;
  }
  return {};
}

result<std::optional<proto_stream::field>> proto_stream::next() {
  if (auto passed = pass(std::exchange(pending_, 0)); !passed) return tl::unexpected<error>(passed.error());
  if (ends_.empty()) {
    const auto more = fill();
    if (!more) return tl::unexpected<error>(more.error());
    if (!*more) return std::nullopt;
  } else if (offset_ >= ends_.back()) {
    if (offset_ > ends_.back()) return wrong("a field that is longer than its message");
    return std::nullopt;
  }
  field output;
  output.offset = offset_;
  const auto key = varint();
  if (!key) return tl::unexpected<error>(key.error());
  output.number = static_cast<std::uint32_t>(*key >> 3);
  output.stored = static_cast<wire>(*key & 7);
  if (*key >> 3 == 0 || *key >> 32 != 0) return wrong("a field with an impossible number");
  result<std::uint64_t> value = 0;
  switch (output.stored) {
    case wire::varint:
    case wire::length:
      value = varint();
      break;
    case wire::fixed64:
      value = fixed(8);
      break;
    case wire::fixed32:
      value = fixed(4);
      break;
    default:
      return wrong("a field of an unknown type");
  }
  if (!value) return tl::unexpected<error>(value.error());
  output.value = *value;
  if (output.stored == wire::length) {
    const bool fits = ends_.empty() ? output.value <= UINT64_MAX - offset_
                                    : output.value <= ends_.back() - std::min(offset_, ends_.back());
    if (!fits) return wrong("a field that is longer than its message");
    pending_ = output.value;
  }
  return output;
}

result<void> proto_stream::enter() {
  if (ends_.size() == deepest) return wrong("messages are nested too deeply");
  ends_.push_back(offset_ + std::exchange(pending_, 0));
  return {};
}

result<std::optional<std::string_view>> proto_stream::take(std::size_t most) {
  if (pending_ > most) return std::nullopt;
  taken_.clear();
  while (pending_ != 0) {
    const auto more = fill();
    if (!more) return tl::unexpected<error>(more.error());
    if (!*more) return wrong("the file ends inside a field");
    const std::size_t size = static_cast<std::size_t>(std::min<std::uint64_t>(pending_, filled_ - at_));
    taken_.append(reinterpret_cast<const char*>(buffer_.data() + at_), size);
    at_ += size;
    offset_ += size;
    pending_ -= size;
  }
  return std::optional<std::string_view>(taken_);
}

}  // namespace sluice::importing
