#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/trace/file/writer.hpp"

namespace sluice::importing {

/// Memory of which a file has only the sum at some times. A block stands for what the sum grew by between two of them;
/// when the sum shrinks, the newest blocks end, and what is left of one goes on as a block of its own. Not thread-safe.
class grown_memory {
 public:
  /// `like`: what the blocks have in common. `blocks`: the number of blocks in the trace, which outlives this.
  grown_memory(trace::file_writer& out, const trace::alloc_event& like, std::string_view category,
               std::uint64_t& blocks);

  /// The sum from `time` on, in bytes. Of several at one time each counts 1 ns after the one before it. Returns when it
  /// counts.
  trace::time_ns set(trace::time_ns time, std::uint64_t bytes);

 private:
  struct block {
    trace::block_id id{};
    std::uint64_t bytes = 0;
  };
  void allocate(trace::time_ns time, std::uint64_t bytes);
  void release(trace::time_ns time, trace::block_id which);

  trace::file_writer& out_;
  trace::alloc_event like_;
  trace::string_id category_{};  ///< None: the file has no categories.
  std::uint64_t& blocks_;
  std::uint64_t sum_ = 0;
  trace::time_ns said_ = INT64_MIN, counted_ = INT64_MIN;  ///< When the last sum was.
  std::vector<block> live_;
};

}  // namespace sluice::importing
