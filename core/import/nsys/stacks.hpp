#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "core/import/nsys/places.hpp"
#include "core/import/nsys/tables.hpp"
#include "core/trace/file/writer.hpp"

namespace sluice::importing {

/// The call chains of an Nsight Systems export: lists of frames by number, as stacks of the trace. Private to core/import.
class nsys_stacks {
 public:
  explicit nsys_stacks(trace::file_writer& out) : out_(out) {}

  /// A row of CUDA_CALLCHAINS. False for a frame so deep that it can only be wrong.
  [[nodiscard]] bool add_frame(const nsys::cells& row, nsys_places& places);
  /// The stack of a chain, none if there is no such; written when it is asked for first.
  [[nodiscard]] trace::stack_id of(std::int64_t chain);

 private:
  struct call_chain {
    std::vector<trace::frame_id> frames;  ///< By depth; 0 is the innermost.
    bool made = false;
    trace::stack_id stack{};
  };

  trace::file_writer& out_;
  std::unordered_map<std::int64_t, call_chain> chains_;
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, trace::frame_id> frames_;
  std::map<std::pair<trace::stack_id, trace::frame_id>, trace::stack_id> stacks_;
};

}  // namespace sluice::importing
