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

/// Converts the lists of frames in a pickle to call stacks of a trace. Converts each list, frame and text only once.
///
/// A frame of code that torch.compile generated may name the source lines from which it was generated
/// (`fx_original_trace`, see torch/cuda/memory.py). These lines become frames, as if the generated code had called
/// them. In a backward pass, the lines belong to the forward operation, so their frames are treated like
/// `forward_frames`.
class stack_writer {
 public:
  stack_writer(const pickle_document& document, job& work);

  /// Returns the stack of a list of frames, innermost first. If `forward` is given, its frames follow as callers.
  /// Returns none for `no_container` and empty lists. Amortized O(1) for a list that was converted before.
  [[nodiscard]] trace::stack_id find_stack(std::uint32_t frames, std::uint32_t forward = no_container);

  /// Returns the string of the trace for a text of the pickle. Writes the string on the first call.
  [[nodiscard]] trace::string_id text(const pickle_value& value);

 private:
  enum class originals : std::uint8_t { added, left_out };
  [[nodiscard]] std::uint64_t add_frames(std::uint32_t list, std::uint64_t parent, originals subject);
  /// Adds at most `most` of the frames listed in `text`, which is a traceback, to the stack `parent`.
  [[nodiscard]] std::uint64_t add_shown(const pickle_value& text, std::uint64_t parent, std::size_t most);
  /// Creates the stack of a list, without frames of a forward pass.
  [[nodiscard]] std::uint64_t make_stack(std::uint32_t list);
  /// Creates the stack of a list whose callers are `forward`, the stack of the forward operation (0 if unknown).
  [[nodiscard]] std::uint64_t add_behind(std::uint64_t forward, std::uint32_t list);
  [[nodiscard]] std::span<const pickle_value> frames_in(std::uint32_t list);
  [[nodiscard]] const pickle_value* find_original(const pickle_value& frame) const;
  [[nodiscard]] std::uint64_t find_frame(const pickle_value& dictionary);
  [[nodiscard]] std::uint64_t same_frame(trace::string_id name, trace::string_id file, std::uint64_t line,
                                         trace::frame_kind kind);
  [[nodiscard]] std::uint64_t new_frame(trace::string_id name, trace::string_id file, std::uint64_t line,
                                        trace::frame_kind kind);
  [[nodiscard]] std::uint64_t child(std::uint64_t parent, std::uint64_t frame);
  void grow();

  const pickle_document& from_;
  job& work_;
  zeros<std::uint32_t> stacks_;      ///< The stack of each list, indexed by container; 0 until it is computed.
  zeros<std::uint32_t> frames_;      ///< The frame of each dictionary, indexed by container; 0 until it is computed.
  zeros<trace::string_id> strings_;  ///< The string in the trace of each text, indexed by text.
  std::uint64_t last_stack_ = 0, last_frame_ = 0, forward_frame_ = 0;
  std::map<std::tuple<trace::string_id, trace::string_id, std::uint64_t>, std::uint32_t> same_frames_;
  std::unordered_map<std::uint32_t, pickle_value> original_texts_;  ///< Tracebacks, by dictionary.
  /// For each text, its frames, outermost first.
  std::unordered_map<std::uint32_t, std::vector<std::uint64_t>> shown_frames_;
  std::unordered_set<std::uint64_t> backward_frames_;  ///< Frames that run a backward pass.
  // The tree of stacks: a hash table from (parent, frame) to stack. It uses open addressing, because a snapshot needs
  // millions of lookups.
  struct slot {
    std::uint64_t key = 0;
    std::uint32_t stack = 0;
  };
  huge_vector<slot> slots_;
};

}  // namespace sluice::importing::torch
