#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "core/import/torch/snapshot.hpp"
#include "core/trace/file/writer.hpp"

namespace sluice::importing::torch {

/// Converts lists of frames to stacks of a trace. Converts each list, frame and text of the pickle only once.
class stack_writer {
 public:
  stack_writer(const pickle_document& from, job& work);

  /// The stack of a list of frames, innermost first. The frames of `forward`, if given, follow as its callers. None for
  /// `no_container` and empty lists. Amortized O(1) for a list seen before.
  [[nodiscard]] trace::stack_id stack_of(std::uint32_t frames, std::uint32_t forward = no_container);

  /// A text of the pickle as a string of the trace.
  [[nodiscard]] trace::string_id text(const pickle_value& of);

 private:
  [[nodiscard]] std::uint64_t add_frames(std::uint32_t list, std::uint64_t parent);
  [[nodiscard]] std::uint64_t frame_of(const pickle_value& dictionary);
  [[nodiscard]] std::uint64_t new_frame(trace::string_id name, trace::string_id file, std::uint64_t line,
                                        trace::frame_kind kind);
  [[nodiscard]] std::uint64_t child(std::uint64_t parent, std::uint64_t frame);
  void grow();

  const pickle_document& from_;
  job& work_;
  zeros<std::uint32_t> stacks_;      ///< By container: a list's stack; 0: not yet known.
  zeros<std::uint32_t> frames_;      ///< By container: a dictionary's frame; 0: not yet known.
  zeros<trace::string_id> strings_;  ///< By a text's index: its string in the trace.
  std::uint64_t last_stack_ = 0, last_frame_ = 0, forward_frame_ = 0;
  std::map<std::tuple<trace::string_id, trace::string_id, std::uint64_t>, std::uint32_t> same_frames_;
  // The tree of stacks: (parent, frame) to stack. Open addressing, because a snapshot needs millions of lookups.
  struct slot {
    std::uint64_t key = 0;
    std::uint32_t stack = 0;
  };
  huge_vector<slot> slots_;
};

}  // namespace sluice::importing::torch
