#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "core/import/chrome/event.hpp"
#include "core/import/torch/kineto_devices.hpp"
#include "core/import/torch/python_calls.hpp"
#include "core/trace/file/writer.hpp"

namespace sluice::importing {

/// torch.profiler's "[memory]" instants: allocations and frees of the framework's allocators. They come thread by
/// thread, so a free can precede its allocation: all are held until the end (72 bytes each). Private to core/import.
class kineto_memory {
 public:
  kineto_memory(trace::file_writer& out, kineto_devices& devices, python_calls& python)
      : out_(out), devices_(devices), python_(python) {}

  /// Names the framework whose allocators the instants are of, if it is not PyTorch.
  void name_framework(std::string_view name) { framework_ = name; }
  /// Adds an instant. `failed`: the allocation failed.
  void add(trace::process_id process, trace::thread_id thread, trace::time_ns time, const chrome_details& details,
           bool failed);

  struct figures {
    std::uint64_t allocs = 0, frees = 0;
    std::uint64_t born_before = 0;       ///< Freed blocks without a recorded allocation.
    std::uint64_t sizes_differ = 0;      ///< Frees with another size than the block's.
    std::uint64_t addresses_reused = 0;  ///< Allocations at a live block's address; its free is inferred.
    std::uint64_t empty = 0;             ///< Instants with 0 bytes.
    std::uint64_t without_stack = 0;     ///< Python functions that were not held, whose allocations have no stack.
    std::uint64_t paired = 0;            ///< Frees without an address, matched with a block of the same size.
    trace::time_ns begin = 0;            ///< When the recording begins.
  };
  /// Writes the instants in order of time; the first event is at `begin`. The recording begins 1 ns earlier if a block
  /// from before is freed at `begin`, so that the block is seen. O(n log n).
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
    bool has_address = false;
    bool failed = false;
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
    std::unordered_map<std::uint64_t, std::vector<block>> without_address;  ///< Live blocks with no address, by size.
    std::int64_t before = 0;  ///< Bytes in use before the first instant, minus those whose free was recorded.
  };

  heap& heap_of(const instant& of);
  void allocate(heap& in, const instant& of);
  void release(heap& in, const instant& of);
  void refuse(const heap& in, const instant& of);
  [[nodiscard]] std::optional<block> take_live(heap& in, const instant& of);
  trace::block_id born_before(heap& in, std::uint64_t address, std::uint64_t bytes, trace::provenance source);

  trace::file_writer& out_;
  kineto_devices& devices_;
  python_calls& python_;  ///< What ran meanwhile gives allocations their stacks.
  std::vector<instant> instants_;
  std::map<std::tuple<trace::process_id, std::int32_t, std::int32_t>, heap>
      heaps_;  ///< By process, type and number of the device.
  std::string framework_ = "PyTorch";
  std::uint64_t blocks_ = 0;
  trace::time_ns begin_ = 0;
  figures figures_;
};

}  // namespace sluice::importing
