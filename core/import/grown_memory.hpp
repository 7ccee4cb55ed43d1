#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/trace/file/writer.hpp"

namespace sluice::importing {

/// Creates blocks for memory of which a file has only the total at some times. Each block represents the growth of the
/// total between two times. When the total shrinks, the newest blocks are freed. If a block is only partly freed, its
/// rest becomes a new block. Not thread-safe.
class grown_memory {
 public:
  /// `like` has the attributes that all blocks share. `blocks` counts the blocks in the trace and must outlive this
  /// object.
  grown_memory(trace::file_writer& out, const trace::alloc_event& like, std::string_view category,
               std::uint64_t& blocks);

  /// Sets the total in bytes from `time` on. If the previous total has the same time, uses a time that is 1 ns later.
  /// Returns the time used.
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
  trace::string_id category_{};  ///< None if the file has no categories.
  std::uint64_t& blocks_;
  std::uint64_t sum_ = 0;
  /// The last total's time in the file, and the time used for it.
  trace::time_ns said_ = INT64_MIN, counted_ = INT64_MIN;
  std::vector<block> live_;
};

}  // namespace sluice::importing
