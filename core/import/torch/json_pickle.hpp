#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/import/json/json_stream.hpp"
#include "core/import/torch/pickle_emitter.hpp"

namespace sluice::importing::torch {

/// Writes JSON values with an emitter. Stacks (arrays under the keys "frames" and "forward_frames"), which JSON repeats
/// at each use, are written once and referred to.
class json_emitter {
 public:
  explicit json_emitter(pickle_emitter& out) : out_(out) {}

  /// Writes one token of a document. Call for each in order, but for `end`.
  void take(json_stream::token token, const json_stream& at);
  /// True while what was written last may still be taken back.
  [[nodiscard]] bool is_holding() const { return holding_; }

 private:
  static constexpr std::size_t longest_stack = std::size_t{4} << 20;

  void write(json_stream::token token, const json_stream& at);
  void write_number(std::string_view text);
  void end_stack();

  pickle_emitter& out_;
  bool stack_follows_ = false;
  bool holding_ = false;
  std::size_t depth_ = 0;  ///< Of the stack that is being written.
  std::size_t begin_ = 0;
  std::string canonical_;  ///< The stack's tokens, to find it again by.
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint32_t> stacks_;  ///< By hash.
};

/// A JSON document as a pickle of the same data, made piece by piece. Not thread-safe.
class json_as_pickle {
 public:
  explicit json_as_pickle(byte_source source) : json_(std::move(source)), emitter_(out_) {}

  /// The next bytes of the pickle; 0 at the end. Errors: those of `json_stream`.
  [[nodiscard]] result<std::size_t> read(std::span<std::byte> into);

 private:
  json_stream json_;
  pickle_emitter out_;
  json_emitter emitter_;
  std::size_t taken_ = 0;
  bool ended_ = false;
};

}  // namespace sluice::importing::torch
