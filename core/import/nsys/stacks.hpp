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

/// Converts the call chains of an Nsight Systems export to stacks of the trace. Private to core/import.
class nsys_stacks {
 public:
  explicit nsys_stacks(trace::file_writer& out) : out_(out) {}

  /// Adds a row of CUDA_CALLCHAINS, which is one frame. Returns false if the frame's depth is implausible.
  [[nodiscard]] bool add_frame(const nsys::cells& row, nsys_places& places);
  /// Returns the stack of a chain, or none if the chain is unknown. Writes the stack on the first call.
  [[nodiscard]] trace::stack_id of(std::int64_t chain);

 private:
  struct call_chain {
    std::vector<trace::frame_id> frames;  ///< Indexed by depth; the innermost frame has depth 0.
    bool written = false;
    trace::stack_id stack{};
  };

  trace::file_writer& out_;
  std::unordered_map<std::int64_t, call_chain> chains_;
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, trace::frame_id> frames_;
  std::map<std::pair<trace::stack_id, trace::frame_id>, trace::stack_id> stacks_;
};

}  // namespace sluice::importing
