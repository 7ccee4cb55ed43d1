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

/// Writes JSON values as opcodes of a pickle, Python's format for data. JSON repeats stacks (arrays under the keys
/// "frames" and "forward_frames") at each use; this class writes a stack once and then refers to it.
class json_emitter {
 public:
  explicit json_emitter(pickle_emitter& out) : out_(out) {}

  /// Writes one token of a document. Call for each token except `end`, in order.
  void take(json_stream::token token, const json_stream& at);
  /// True while the last value may still be removed from the output and replaced by a reference.
  [[nodiscard]] bool is_holding() const { return holding_; }

 private:
  static constexpr std::size_t longest_stack = std::size_t{4} << 20;

  void write(json_stream::token token, const json_stream& at);
  void write_number(std::string_view text);
  void end_stack();

  pickle_emitter& out_;
  bool stack_follows_ = false;
  bool holding_ = false;
  std::size_t depth_ = 0;  ///< The nesting depth at which the current stack started.
  std::size_t begin_ = 0;
  std::string canonical_;  ///< The tokens of the current stack, whose hash is its key in `stacks_`.
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint32_t> stacks_;  ///< Keyed by hash.
};

/// Converts a JSON document to a pickle of the same data, piece by piece, so that the pickle reader can read it. Not
/// thread-safe.
class json_as_pickle {
 public:
  explicit json_as_pickle(byte_source source) : json_(std::move(source)), emitter_(out_) {}

  /// Reads the next bytes of the pickle. Returns their number, or 0 at the end. Errors: those of `json_stream`.
  [[nodiscard]] result<std::size_t> read(std::span<std::byte> into);

 private:
  json_stream json_;
  pickle_emitter out_;
  json_emitter emitter_;
  std::size_t taken_ = 0;
  bool ended_ = false;
};

}  // namespace sluice::importing::torch
