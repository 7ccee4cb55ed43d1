#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "core/import/torch/snapshot.hpp"
#include "core/trace/file/writer.hpp"

namespace sluice::importing::torch {

/// Turns lists of frames into the stacks of a trace. Each list, each frame and each text of the pickle is looked at once.
class stack_writer {
 public:
  stack_writer(const pickle_document& from, job& work);

  /// The stack of a list of frames, innermost first; behind them, as what asked for the work on another thread, `forward`'s.
  /// None for `no_container` and for empty lists. Amortised O(1) for a list that came before.
  [[nodiscard]] trace::stack_id stack_of(std::uint32_t frames, std::uint32_t forward = no_container);

  /// A text of the pickle, in the trace.
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
  zeros<std::uint32_t> stacks_;      ///< By container: the stack of a list; 0 not known yet.
  zeros<std::uint32_t> frames_;      ///< By container: the frame of a dictionary; 0 not known yet.
  zeros<trace::string_id> strings_;  ///< By text.
  std::uint64_t last_stack_ = 0, last_frame_ = 0, forward_frame_ = 0;
  std::map<std::tuple<trace::string_id, trace::string_id, std::uint64_t>, std::uint32_t> same_frames_;
  // The tree of stacks: parent and frame to stack. Open addressing, because a snapshot asks millions of times.
  struct slot {
    std::uint64_t key = 0;
    std::uint32_t stack = 0;
  };
  huge_vector<slot> slots_;
};

}  // namespace sluice::importing::torch
