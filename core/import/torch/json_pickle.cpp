#include "core/import/torch/json_pickle.hpp"

#include <xxhash.h>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace sluice::importing::torch {

using token = json_stream::token;

void json_emitter::take(token which, const json_stream& at) {
  const bool begins_stack = stack_follows_ && which == token::begin_array && !holding_;
  stack_follows_ = which == token::key && (at.text() == "frames" || at.text() == "forward_frames");
  if (begins_stack) {
    holding_ = true;
    depth_ = at.depth();
    begin_ = out_.size();
    canonical_.clear();
  }
  write(which, at);
  if (!holding_) return;
  canonical_ += static_cast<char>(which);
  if (which != token::begin_array && which != token::begin_object) canonical_ += at.text();
  canonical_ += '\0';
  if (which == token::end_array && at.depth() == depth_ - 1) {
    end_stack();
  } else if (canonical_.size() > longest_stack) {
    holding_ = false;  // The value is kept as it was written.
  }
}

void json_emitter::end_stack() {
  holding_ = false;
  const XXH128_hash_t hash = XXH3_128bits(canonical_.data(), canonical_.size());
  const auto [known, fresh] = stacks_.try_emplace({hash.high64, hash.low64}, 0);
  if (fresh) {
    known->second = out_.remember();
  } else {
    out_.take_back(begin_);
    out_.recall(known->second);
  }
}

void json_emitter::write(token which, const json_stream& at) {
  switch (which) {
    case token::begin_object:
      return out_.begin_dictionary();
    case token::begin_array:
      return out_.begin_list();
    case token::end_object:
    case token::end_array:
      return out_.end();
    case token::key:
    case token::text:
      return out_.text(at.text());
    case token::number:
      return write_number(at.text());
    case token::boolean:
      return out_.boolean(at.text() == "true");
    case token::null:
      return out_.none();
    case token::end:
      return;
  }
}

void json_emitter::write_number(std::string_view text) {
  const char* const end = text.data() + text.size();
  std::int64_t integer = 0;
  std::uint64_t natural = 0;
  double real = 0;
  if (const auto read = std::from_chars(text.data(), end, integer); read.ec == std::errc{} && read.ptr == end) {
    out_.integer(integer);
  } else if (const auto large = std::from_chars(text.data(), end, natural);
             large.ec == std::errc{} && large.ptr == end) {
    out_.natural(natural);
  } else {
    std::from_chars(text.data(), end, real);
    out_.real(real);
  }
}

result<std::size_t> json_as_pickle::read(std::span<std::byte> into) {
  constexpr std::size_t least = std::size_t{64} << 10;
  std::string& text = out_.bytes();
  if (taken_ == text.size() && !emitter_.is_holding()) {
    text.clear();
    taken_ = 0;
  }
  while (!ended_ && (text.size() - taken_ < least || emitter_.is_holding())) {
    const auto next = json_.next();
    if (!next) return tl::unexpected<error>(next.error());
    ended_ = *next == token::end;
    if (ended_) {
      out_.finish();
    } else {
      emitter_.take(*next, json_);
    }
  }
  const std::size_t size = std::min(into.size(), text.size() - taken_);
  std::memcpy(into.data(), text.data() + taken_, size);
  taken_ += size;
  return size;
}

}  // namespace sluice::importing::torch
