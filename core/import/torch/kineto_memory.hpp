#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "core/import/chrome/event.hpp"
#include "core/import/torch/kineto_devices.hpp"
#include "core/trace/file/writer.hpp"

namespace sluice::importing {

/// torch.profiler's "[memory]" instants: allocations and frees in the framework. They are grouped by thread, so a free
/// may come before its allocation; all are held (64 bytes each) until the end. Private to core/import.
class kineto_memory {
 public:
  kineto_memory(trace::file_writer& out, kineto_devices& devices) : out_(out), devices_(devices) {}

  void add(trace::process_id process, trace::thread_id thread, trace::time_ns time, const chrome_details& details);

  struct figures {
    std::uint64_t allocs = 0, frees = 0;
    std::uint64_t born_before = 0;       ///< Freed blocks without a recorded allocation.
    std::uint64_t sizes_differ = 0;      ///< Frees with another size than the block's.
    std::uint64_t addresses_reused = 0;  ///< Allocations at a live block's address; its free is inferred.
    std::uint64_t empty = 0;             ///< Instants with 0 bytes.
  };
  /// Writes the blocks in order of time. `begin` is the start of the recording. O(n log n).
  figures finish(trace::time_ns begin);

 private:
  struct instant {
    trace::time_ns time = 0;
    std::uint64_t address = 0;
    std::int64_t bytes = 0, allocated = 0, reserved = 0;
    trace::process_id process{};
    trace::thread_id thread{};
    std::int32_t device = -1;
    std::int32_t device_type = 0;
  };
  struct block {
    trace::block_id id{};
    std::uint64_t bytes = 0;
  };
  /// One allocator, of a device or of the host.
  struct heap {
    trace::process_id process{};
    trace::device_id device{};
    trace::memory_kind kind = trace::memory_kind::unknown;
    trace::pool_id pool{};
    std::unordered_map<std::uint64_t, block> live;
    std::int64_t before = 0;  ///< Bytes in use before the first instant, minus those whose free was recorded.
  };

  heap& heap_of(const instant& of);
  void allocate(heap& in, const instant& of);
  void release(heap& in, const instant& of);
  trace::block_id born_before(heap& in, std::uint64_t address, std::uint64_t bytes, trace::provenance source);

  trace::file_writer& out_;
  kineto_devices& devices_;
  std::vector<instant> instants_;
  std::map<std::pair<std::int32_t, std::int32_t>, heap> heaps_;
  std::uint64_t blocks_ = 0;
  trace::time_ns begin_ = 0;
  figures figures_;
};

}  // namespace sluice::importing
