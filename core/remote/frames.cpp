#include "core/remote/frames.hpp"

#include <algorithm>
#include <bit>
#include <string_view>

#include "core/base/printable.hpp"

namespace sluice::remote {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::size_t longest_failure = 1000;  // bytes

void append(std::vector<std::byte>& out, std::span<const std::byte> bytes) {
  out.insert(out.end(), bytes.begin(), bytes.end());
}

/// Error codes that the protocol supports, by number.
constexpr error_code codes[] = {error_code::io,      error_code::not_found,        error_code::foreign,
                                error_code::corrupt, error_code::invalid_argument, error_code::unavailable};

}  // namespace

void put_frame(std::vector<std::byte>& out, frame_kind kind, std::uint64_t id, std::span<const std::byte> first,
               std::span<const std::byte> second) {
  frame_header header;
  header.bytes = static_cast<std::uint32_t>(first.size() + second.size());
  header.kind = static_cast<std::uint16_t>(kind);
  header.id = id;
  append(out, get_bytes(header));
  append(out, first);
  append(out, second);
}

void put_failure(std::vector<std::byte>& out, std::uint64_t id, const error& why) {
  const auto* const place = std::find(std::begin(codes), std::end(codes), why.code);
  const std::uint32_t code = place == std::end(codes) ? 0 : static_cast<std::uint32_t>(place - std::begin(codes));
  const std::string text = printable_line(why.to_string(), longest_failure);
  put_frame(out, frame_kind::failure, id, get_bytes(code), std::as_bytes(std::span(text)));
}

error failure_in(std::span<const std::byte> payload, const std::string& source) {
  const auto code = message_in<std::uint32_t>(payload);
  if (!code) return {error_code::corrupt, "replied with an unknown failure", source, error::no_offset, {}};
  const auto text = payload.subspan(sizeof *code);
  const std::string_view said(reinterpret_cast<const char*>(text.data()), text.size());
  return {codes[std::min<std::size_t>(*code, std::size(codes) - 1)],
          printable_line(said, longest_failure),
          source,
          error::no_offset,
          {}};
}

result<extent_message> extent_in(const frame& reply, std::uint64_t generation, const std::string& source) {
  const auto said = message_in<extent_message>(reply.payload);
  const bool makes_sense = said && reply.kind == frame_kind::extent &&
                           (generation == 0 || said->generation == generation) && said->growing <= 1 &&
                           said->newest >= said->generation && said->bytes <= static_cast<std::uint64_t>(INT64_MAX);
  if (!makes_sense) return fail(error_code::corrupt, "received an invalid reply", source);
  return *said;
}

void frame_buffer::add(std::span<const std::byte> bytes) {
  if (begin_ == held_.size()) {
    held_.clear();
    begin_ = 0;
  } else if (begin_ > held_.size() / 2) {
    held_.erase(held_.begin(), held_.begin() + static_cast<std::ptrdiff_t>(begin_));
    begin_ = 0;
  }
  append(held_, bytes);
}

result<std::optional<frame>> frame_buffer::next() {
  const auto rest = std::span<const std::byte>(held_).subspan(begin_);
  const auto header = message_in<frame_header>(rest);
  if (!header) return std::nullopt;
  if (header->zero != 0) return fail(error_code::corrupt, "a frame has an invalid header");
  if (header->bytes > max_payload_) return fail(error_code::corrupt, "a frame is too long");
  const std::size_t whole = sizeof *header + header->bytes;
  if (rest.size() < whole) return std::nullopt;
  const auto payload = rest.subspan(sizeof *header, header->bytes);
  begin_ += whole;
  return frame{static_cast<frame_kind>(header->kind), header->id, {payload.begin(), payload.end()}};
}

}  // namespace sluice::remote
