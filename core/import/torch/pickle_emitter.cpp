#include "core/import/torch/pickle_emitter.hpp"

#include <bit>
#include <cstdint>

namespace sluice::importing::torch {
namespace {

// The most items between two marks, as in Python, because readers hold these items on their stack.
constexpr std::uint32_t max_items = 1000;

}  // namespace

void pickle_emitter::put_number(std::uint64_t value, unsigned bytes) {
  for (unsigned i = 0; i < bytes; ++i) out_ += static_cast<char>(static_cast<unsigned char>(value >> (8 * i)));
}

void pickle_emitter::before_value() {
  if (open_.empty()) return;
  container& in = open_.back();
  if (in.values == max_items * in.parts) {
    out_ += in.closes;
    in.values = 0;
  }
  if (in.values == 0) out_ += '(';
  ++in.values;
}

void pickle_emitter::begin(char opens, char closes, std::uint8_t parts) {
  put(opens);
  open_.push_back({closes, parts, 0});
}

void pickle_emitter::end() {
  if (open_.back().values != 0) out_ += open_.back().closes;
  open_.pop_back();
}

void pickle_emitter::integer(std::int64_t value) {
  if (value >= INT32_MIN && value <= INT32_MAX) {
    put('J');
    put_number(static_cast<std::uint64_t>(value), 4);
  } else {
    put('\x8a');
    out_ += '\x08';
    put_number(static_cast<std::uint64_t>(value), 8);
  }
}

void pickle_emitter::natural(std::uint64_t value) {
  put('\x8a');
  out_ += '\x09';
  put_number(value, 8);
  out_ += '\0';
}

void pickle_emitter::real(double value) {
  put('G');
  const auto bits = std::bit_cast<std::uint64_t>(value);
  for (unsigned i = 8; i-- > 0;) out_ += static_cast<char>(static_cast<unsigned char>(bits >> (8 * i)));
}

void pickle_emitter::text(std::string_view value) {
  const bool kept = value.size() <= longest_kept_text;
  if (kept) {
    if (const auto known = texts_.find(std::string(value)); known != texts_.end()) return recall(known->second);
  }
  put('X');
  put_number(value.size(), 4);
  out_ += value;
  if (kept && texts_.size() < max_texts) texts_.emplace(value, remember());
}

std::uint32_t pickle_emitter::remember() {
  out_ += 'r';
  put_number(remembered_, 4);
  return remembered_++;
}

void pickle_emitter::recall(std::uint32_t number) {
  put('j');
  put_number(number, 4);
}

void pickle_emitter::take_back(std::size_t at) {
  out_.resize(at);
  if (!open_.empty()) --open_.back().values;
}

}  // namespace sluice::importing::torch
