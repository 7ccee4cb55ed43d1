#include "core/export/torch/pickle_writer.hpp"

#include <bit>

#include "core/base/utf8.hpp"

namespace sluice::exports {
namespace {

// The number of values between two marks. It is even, so that keys stay with their values.
constexpr std::uint32_t batch = 2000;
constexpr std::size_t piece = std::size_t{1} << 16;

}  // namespace

pickle_writer::pickle_writer(output& to) : to_(to) { bytes_ = "\x80\x04"; }

void pickle_writer::little(std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) code(static_cast<char>(value >> (8 * i)));
}

void pickle_writer::flush() {
  if (outcome_) outcome_ = to_.write(bytes_);
  bytes_.clear();
}

/// Writes a mark before the first value of a batch, and the append opcode after a full batch.
void pickle_writer::before_value() {
  if (bytes_.size() >= piece) flush();
  if (levels_.empty()) return;
  level& in = levels_.back();
  if (in.items == batch) {
    code(in.opcode == ']' ? 'e' : 'u');
    in.items = 0;
  }
  if (in.items++ == 0) code('(');
}

void pickle_writer::none() {
  before_value();
  code('N');
}

void pickle_writer::boolean(bool value) {
  before_value();
  code(value ? '\x88' : '\x89');
}

void pickle_writer::integer(std::int64_t value) {
  before_value();
  if (value >= 0 && value <= 0xff) {
    code('K');
    return little(static_cast<std::uint64_t>(value), 1);
  }
  if (value >= 0 && value <= 0xffff) {
    code('M');
    return little(static_cast<std::uint64_t>(value), 2);
  }
  if (value >= INT32_MIN && value <= INT32_MAX) {
    code('J');
    return little(static_cast<std::uint64_t>(value), 4);
  }
  code('\x8a');
  code(8);
  little(static_cast<std::uint64_t>(value), 8);
}

void pickle_writer::unsigned_integer(std::uint64_t value) {
  if (value <= INT64_MAX) return integer(static_cast<std::int64_t>(value));
  before_value();
  code('\x8a');
  code(9);
  little(value, 8);
  code(0);
}

void pickle_writer::real(double value) {
  before_value();
  code('G');
  little(__builtin_bswap64(std::bit_cast<std::uint64_t>(value)), 8);
}

void pickle_writer::text(std::string_view value) {
  if (first_not_utf8(value) != std::string_view::npos) return text(mended_utf8(value));
  before_value();
  const auto [known, fresh] = texts_.try_emplace(std::string(value), remembered_);
  if (!fresh) {
    code(known->second <= 0xff ? 'h' : 'j');
    return little(known->second, known->second <= 0xff ? 1 : 4);
  }
  const bool small = value.size() <= 0xff;
  code(small ? '\x8c' : 'X');
  little(value.size(), small ? 1 : 4);
  bytes_ += value;
  code('\x94');
  ++remembered_;
}

void pickle_writer::pair(std::int64_t first, std::int64_t second) {
  before_value();
  levels_.push_back({'\0', 1});  // The level counts as one with a mark, because TUPLE2 needs none.
  integer(first);
  integer(second);
  levels_.pop_back();
  code('\x86');
}

void pickle_writer::open(char opcode) {
  before_value();
  code(opcode);
  levels_.push_back({opcode, 0});
}

void pickle_writer::close() {
  const level in = levels_.back();
  levels_.pop_back();
  if (in.items > 0) code(in.opcode == ']' ? 'e' : 'u');
}

std::uint32_t pickle_writer::remember() {
  code('\x94');
  return remembered_++;
}

void pickle_writer::again(std::uint32_t remembered) {
  before_value();
  code(remembered <= 0xff ? 'h' : 'j');
  little(remembered, remembered <= 0xff ? 1 : 4);
}

result<void> pickle_writer::end() {
  code('.');
  flush();
  return outcome_;
}

}  // namespace sluice::exports
