#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "core/import/torch/kineto_devices.hpp"
#include "core/import/torch/python_calls.hpp"
#include "core/import/trace_events/event.hpp"
#include "core/trace/file/writer.hpp"

namespace sluice::importing {

/// Imports torch.profiler's "[memory]" instants, which are allocations and frees of the framework's allocators. The
/// file has the instants thread by thread, so a free can precede its allocation. Therefore, all instants are held until
/// the end (72 bytes each). Private to core/import.
class kineto_memory {
 public:
  kineto_memory(trace::file_writer& out, kineto_devices& devices, python_calls& python)
      : out_(out), devices_(devices), python_(python) {}

  /// Sets the name of the framework to whose allocators the instants belong. The default is PyTorch.
  void name_framework(std::string_view name) { framework_ = name; }
  /// Adds an instant. `failed`: the instant is a failed allocation.
  void add(trace::process_id process, trace::thread_id thread, trace::time_ns time, const chrome_details& details,
           bool failed);

  struct metrics {
    std::uint64_t allocs = 0, frees = 0;
    std::uint64_t born_before = 0;   ///< The number of freed blocks whose allocation was not recorded.
    std::uint64_t sizes_differ = 0;  ///< The number of frees whose size differs from the block's.
    /// The number of live blocks whose free is inferred because the address was reused.
    std::uint64_t addresses_reused = 0;
    std::uint64_t empty = 0;          ///< The number of instants with 0 bytes.
    std::uint64_t without_stack = 0;  ///< The number of Python calls beyond the limit, which are in no stack.
    std::uint64_t paired = 0;         ///< The number of frees without an address, matched with a block by size.
    trace::time_ns begin = 0;         ///< The time at which the recording starts.
  };
  /// Writes the instants in order of time. `begin` is the time of the first event. If a block from before the recording
  /// is freed at that time, the recording starts 1 ns earlier, so that the block is visible. O(n log n).
  metrics finish(trace::time_ns begin);

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
  /// The state of one allocator, which belongs to a device or to the host.
  struct heap {
    trace::process_id process{};
    trace::device_id device{};
    trace::memory_kind kind = trace::memory_kind::unknown;
    trace::pool_id pool{};
    std::unordered_map<std::uint64_t, block> live;
    std::unordered_map<std::uint64_t, std::vector<block>> without_address;  ///< Live blocks, keyed by size.
    std::int64_t before = 0;  ///< Bytes in use before the first instant, minus those whose free was recorded.
  };

  heap& get_heap(const instant& subject);
  void allocate(heap& in, const instant& subject);
  void release(heap& in, const instant& subject);
  void refuse(const heap& in, const instant& subject);
  [[nodiscard]] std::optional<block> take_live(heap& in, const instant& subject);
  trace::block_id born_before(heap& in, std::uint64_t address, std::uint64_t bytes, trace::provenance source);

  trace::file_writer& out_;
  kineto_devices& devices_;
  python_calls& python_;  ///< Provides the stacks of allocations, which are the functions that were running.
  std::vector<instant> instants_;
  std::map<std::tuple<trace::process_id, std::int32_t, std::int32_t>, heap>
      heaps_;  ///< Keyed by process, and by type and number of the device.
  std::string framework_ = "PyTorch";
  std::uint64_t blocks_ = 0;
  trace::time_ns begin_ = 0;
  metrics metrics_;
};

}  // namespace sluice::importing
