#pragma once

#include <cstdint>

// Costs of operations on the simulated device. "measured": on one H200 (PCIe Gen5 x16, driver 580, CUDA 13.0); call
// costs are those of a process that is not profiled. "chosen": plausible values that were not measured; they make
// recordings look realistic but support no claim. Rates are in bytes per second and times in nanoseconds.

namespace sluice::backend::simulated {

struct cost_model {
  // Host side: how long a call occupies the calling thread.
  std::int64_t launch_call = 2564;            // measured: kernel launch
  std::int64_t copy_call = 2364;              // measured: cudaMemcpyAsync, 4 KiB, pinned
  std::int64_t set_call = 1388;               // measured: cudaMemsetAsync
  std::int64_t allocate_call = 520;           // measured as a pair: cudaMalloc + cudaFree 823
  std::int64_t free_call = 303;               //
  std::int64_t allocate_async_call = 240;     // measured as a pair: mallocAsync + freeAsync 438
  std::int64_t free_async_call = 198;         //
  std::int64_t allocate_pinned_call = 1000;   // measured as a pair: hostAlloc + freeHost 1653
  std::int64_t free_pinned_call = 653;        //
  std::int64_t event_call = 134;              // measured: eventRecord; waits and queries are assumed to cost the same
  std::int64_t sync_call = 242;               // measured: streamSynchronize, idle
  std::int64_t create_call = 5000;            // chosen: streams and events
  std::int64_t allocate_managed_call = 9000;  // chosen
  std::int64_t prefetch_call = 2600;          // chosen
  std::int64_t advise_call = 900;             // chosen
  std::int64_t capture_call = 900;            // chosen: a call whose work becomes a graph node
  std::int64_t graph_launch_call = 3500;      // chosen
  std::int64_t graph_launch_node = 8;         // chosen: additional cost of each node
  std::int64_t instantiate_node = 1500;       // chosen: per node, when an executable graph is created or updated
  std::int64_t batched_copy = 150;            // chosen: each copy of a batch after the first
  std::int64_t launch_host_call = 1500;       // chosen
  std::int64_t pool_call = 2000;              // chosen: creating, destroying and querying a driver pool
  std::int64_t reserve_call = 1500;           // chosen: reserves addresses only
  std::int64_t physical_call = 60'000;        // chosen: the driver finds and clears pages
  std::int64_t map_call = 40'000;             // chosen: map and set access; the same for unmap
  std::int64_t share_call = 4000;             // chosen: handles for other processes
  std::int64_t import_call = 60'000;          // chosen
  double register_rate = 45.2e9;              // measured: 8 GiB in 0.19 s, read-only shared mapping
  std::int64_t pool_growth = 90'000;          // chosen: the driver maps another piece of its pool

  // Link: host memory to and from the device.
  double pinned_h2d = 55.5e9;        // measured
  double pinned_d2h = 55.5e9;        // assumed equal to pinned_h2d
  double pageable_h2d = 25.7e9;      // measured: torch, 23.9 GiB/s
  double pageable_d2h = 19.9e9;      // measured: torch, 18.5 GiB/s
  double file_mapping_h2d = 9.4e9;   // measured: cudaMemcpy straight from a mapped file
  double file_mapping_d2h = 9.2e9;   // assumed to be about file_mapping_h2d
  std::int64_t copy_latency = 1200;  // chosen: from the start of a copy on its engine to the first byte

  // Device side.
  double device_copy = 2.15e12;         // half of 4.3 TB/s: each byte is read and written
  double device_set = 3.0e12;           // chosen
  double device_memory = 4.3e12;        // memory bandwidth of kernels
  double device_operations = 2.0e13;    // chosen: 32-bit operations per second
  std::int64_t kernel_latency = 1800;   // chosen
  std::int64_t graph_node = 1100;       // measured: replaying a 1000-node graph, 1.08 to 1.17 ms
  std::int64_t enqueue_latency = 1000;  // chosen: from the end of the call to the earliest start on the device
  std::int64_t host_function = 8000;    // chosen: from the stream to the driver's thread and back

  // Managed memory, moved in pieces of `migration_piece` bytes.
  std::uint64_t migration_piece = 2u << 20;
  double prefetch_rate = 48.0e9;         // chosen
  double fault_rate_to_device = 12.0e9;  // chosen: a kernel's page faults fetch memory in batches
  double fault_rate_to_host = 9.0e9;     // chosen
  std::int64_t fault_latency = 25'000;   // chosen: one batch of faults per piece

  // Host work.
  double read_file = 8.8e9;     // measured: pread from the page cache, one thread
  double write_file = 6.0e9;    // chosen
  double copy_memory = 9.95e9;  // measured: memcpy into a pinned slot, one thread
  double flush_file = 2.0e9;    // chosen

  // Memory that the driver uses for a context before the first allocation.
  std::uint64_t context_bytes = 512u << 20;  // chosen

  /// Nanoseconds to move `bytes` at `rate`, rounded down, but at least 1 unless `bytes` is 0.
  [[nodiscard]] static std::int64_t duration(std::uint64_t bytes, double rate) noexcept {
    if (bytes == 0) return 0;
    const double ns = static_cast<double>(bytes) / rate * 1e9;
    return ns < 1 ? 1 : static_cast<std::int64_t>(ns);
  }
};

}  // namespace sluice::backend::simulated
