#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/import/torch/snapshot.hpp"
#include "core/trace/file/writer.hpp"

namespace sluice::importing::torch {

/// Converts lists of frames to stacks of a trace. Converts each list, frame and text of the pickle only once.
///
/// A frame of code that torch.compile generated may name the lines that it was made from (`fx_original_trace`, see
/// torch/cuda/memory.py). These become frames, as if the generated code had called them. In a backward pass they are of
/// the forward operation, and stand where `forward_frames` would.
class stack_writer {
 public:
  stack_writer(const pickle_document& from, job& work);

  /// The stack of a list of frames, innermost first. The frames of `forward`, if given, follow as its callers. None for
  /// `no_container` and empty lists. Amortized O(1) for a list seen before.
  [[nodiscard]] trace::stack_id stack_of(std::uint32_t frames, std::uint32_t forward = no_container);

  /// A text of the pickle as a string of the trace.
  [[nodiscard]] trace::string_id text(const pickle_value& of);

 private:
  enum class originals : std::uint8_t { added, left_out };
  [[nodiscard]] std::uint64_t add_frames(std::uint32_t list, std::uint64_t parent, originals what);
  /// Adds the frames that `text`, a traceback, names: at most `most`.
  [[nodiscard]] std::uint64_t add_shown(const pickle_value& text, std::uint64_t parent, std::size_t most);
  /// The stack of a list that has no frames of a forward pass beside it.
  [[nodiscard]] std::uint64_t make_stack(std::uint32_t list);
  /// Adds a list behind the stack of its forward operation; 0: not known.
  [[nodiscard]] std::uint64_t add_behind(std::uint64_t forward, std::uint32_t list);
  [[nodiscard]] std::span<const pickle_value> frames_in(std::uint32_t list);
  [[nodiscard]] const pickle_value* original_of(const pickle_value& frame) const;
  [[nodiscard]] std::uint64_t frame_of(const pickle_value& dictionary);
  [[nodiscard]] std::uint64_t same_frame(trace::string_id name, trace::string_id file, std::uint64_t line,
                                         trace::frame_kind kind);
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
  std::unordered_map<std::uint32_t, pickle_value> original_texts_;              ///< By dictionary: a traceback.
  std::unordered_map<std::uint32_t, std::vector<std::uint64_t>> shown_frames_;  ///< By text, outermost first.
  std::unordered_set<std::uint64_t> backward_frames_;                           ///< That run a backward pass.
  // The tree of stacks: (parent, frame) to stack. Open addressing, because a snapshot needs millions of lookups.
  struct slot {
    std::uint64_t key = 0;
    std::uint32_t stack = 0;
  };
  huge_vector<slot> slots_;
};

}  // namespace sluice::importing::torch
