#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

// The types of the device interface (device.hpp): handles of streams, events, memory and graphs, and descriptions of
// devices, pointers and copies. All sizes are bytes and all times nanoseconds.

namespace sluice::backend {

/// A stream of one device. 0 is the default stream, which is ordered before and after every blocking stream.
enum class stream_handle : std::uintptr_t { null = 0 };
/// An event of one device.
enum class event_handle : std::uintptr_t { null = 0 };
/// Physical device memory without an address (cuMemCreate).
enum class physical_handle : std::uint64_t { null = 0 };
/// A stream-ordered pool of the driver (cuMemPool); null is the device's default pool.
enum class pool_handle : std::uintptr_t { null = 0 };
/// A graph and an executable graph, which is instantiated from a graph.
enum class graph_handle : std::uintptr_t { null = 0 };
enum class graph_exec_handle : std::uintptr_t { null = 0 };

/// The kind of memory at an address.
enum class memory_space : std::uint8_t {
  pageable,  ///< ordinary host memory, not known to the driver
  pinned,    ///< page-locked host memory: allocated or registered
  device,
  managed,
};

[[nodiscard]] constexpr bool on_host(memory_space space) {
  return space == memory_space::pageable || space == memory_space::pinned;
}

enum class backend_kind : std::uint8_t { cuda, simulated };

/// Optional features of a device. A call for a missing feature returns `not_supported`.
struct device_features {
  bool virtual_memory = false;  ///< address ranges, physical memory and mappings as separate objects (cuMemMap)
  bool driver_pools = false;    ///< stream-ordered allocation, and pools created by the program
  bool shares_memory = false;   ///< memory and events can be opened by other processes (IPC)
  bool batches_copies = false;  ///< several copies in one call; without it, a batch is a loop
};

struct device_description {
  backend_kind kind = backend_kind::simulated;
  std::uint32_t ordinal = 0;            ///< the backend's own device number, which may differ between runs
  std::array<std::uint8_t, 16> uuid{};  ///< identifies the device in all runs
  std::string name;
  std::uint64_t memory_bytes = 0;
  double link_peak = 0;  ///< theoretical bytes per second of the host link in one direction, 0 if unknown
  std::uint32_t link_generation = 0;
  std::uint32_t link_width = 0;
  double attainable_h2d = 0;  ///< measured bytes per second, 0 if never measured
  double attainable_d2h = 0;
  std::uint32_t multiprocessors = 0;
  std::uint32_t compute_major = 0;
  std::uint32_t compute_minor = 0;
  device_features features;
};

struct memory_info {
  std::uint64_t free_bytes = 0;
  std::uint64_t total_bytes = 0;
};

/// Options for creating a pool of the driver.
struct driver_pool_options {
  std::uint64_t max_bytes = 0;  ///< upper limit of reserved memory; 0: no limit. Needs a driver of CUDA 12.2 or later
};

/// Usage of one of the driver's pools.
struct driver_pool_info {
  std::uint64_t reserved_bytes = 0;
  std::uint64_t used_bytes = 0;
  std::uint64_t reserved_high = 0;      ///< maximum since creation or the last reset_pool_highs
  std::uint64_t used_high = 0;          ///< maximum since creation or the last reset_pool_highs
  std::uint64_t release_threshold = 0;  ///< bytes kept reserved when a stream or the device is synchronized
};

struct pinned_flags {
  bool portable = true;         ///< pinned for every device of the process
  bool mapped = false;          ///< kernels may access it, at `pointer_info::device_address`
  bool write_combined = false;  ///< uncached: fast to write and very slow to read from the host

  friend bool operator==(const pinned_flags&, const pinned_flags&) = default;
};

struct registration_flags {
  bool read_only = false;  ///< the device only reads it; required for a read-only file mapping
  bool portable = true;
  bool mapped = false;
};

/// Properties of an address, as known to a device.
struct pointer_info {
  memory_space space = memory_space::pageable;
  int device = -1;                 ///< ordinal of the device it was allocated for; -1 if pageable
  void* base = nullptr;            ///< start of the block or reserved range around the address; null if pageable
  std::uint64_t bytes = 0;         ///< size of that block or range; 0 if pageable
  void* host_address = nullptr;    ///< where the host accesses the memory; null for device memory
  void* device_address = nullptr;  ///< where kernels access the memory; null if they cannot
  bool managed = false;
  bool mapped = false;  ///< host memory that kernels may access
  pinned_flags flags{
      .portable = false, .mapped = false, .write_combined = false};  ///< for pinned memory: its allocation flags
};

struct stream_flags {
  bool non_blocking = false;  ///< no implicit order with the default stream
  int priority = 0;           ///< lower is more urgent; must be in the device's range
};

/// The range of stream priorities. Lower numbers are more urgent: `greatest` <= `least`.
struct priority_range {
  int least = 0;
  int greatest = 0;

  [[nodiscard]] bool contains(int priority) const noexcept { return greatest <= priority && priority <= least; }
  /// A one-line error message for a `priority` outside the range.
  [[nodiscard]] std::string refusal(int priority) const {
    return "priority " + std::to_string(priority) + ": this device supports " + std::to_string(greatest) +
           " (most urgent) to " + std::to_string(least);
  }
};

/// Whether work enqueued on a stream runs now or becomes part of a graph.
enum class capture_status : std::uint8_t {
  none,
  active,
  invalidated,  ///< by a call that is forbidden during capture; ending the capture gives an error and no graph
};
struct capture_info {
  capture_status status = capture_status::none;
  std::uint64_t id = 0;  ///< id of the capture, unique in the process; forked streams have the same id
};
/// Which threads are forbidden to make unsafe calls (calls that may wait for a capturing stream) during a capture.
enum class capture_mode : std::uint8_t { global, this_thread, relaxed };

struct event_flags {
  bool timed = false;
  bool blocking_sync = false;  ///< a waiting thread sleeps instead of spinning
  bool interprocess = false;   ///< other processes may open it; never with `timed`
};

/// Handles with which another process opens an event or a block of memory. They are plain bytes that can be sent over
/// any channel.
struct ipc_event_handle {
  std::array<std::byte, 64> bytes{};
};
struct ipc_memory_handle {
  std::array<std::byte, 64> bytes{};
};

/// One copy of a batch. Its direction is derived from the memory spaces of the addresses.
struct copy_piece {
  void* to = nullptr;
  const void* from = nullptr;
  std::uint64_t bytes = 0;
};

/// A host function that runs in stream order. It must not call the device.
using host_function = void (*)(void* data);

/// The operation of a graph node.
enum class graph_node_kind : std::uint8_t {
  kernel,
  copy,
  set,
  host,
  child_graph,
  empty,
  wait_event,
  record_event,
  allocation,
  free,
  other,
};
/// A graph's structure: its nodes in creation order, and edges between indices into `nodes`.
struct graph_shape {
  std::vector<graph_node_kind> nodes;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;  ///< from, to; sorted
};

struct graph_exec_options {
  bool free_on_launch = false;   ///< before a launch, free memory that the previous launch left allocated
  bool node_priorities = false;  ///< nodes keep the priority of their captured stream; else the launch stream's
};

/// Host work whose cost the simulated device adds to the calling thread's clock. Real devices add nothing, because real
/// time passes anyway.
enum class host_work : std::uint8_t {
  read_file,    ///< pread from the page cache
  write_file,   ///< pwrite to the page cache
  copy_memory,  ///< memcpy between host buffers
  flush_file,
};

/// The location to which a prefetch of managed memory, or advice about managed memory, refers.
struct memory_location {
  bool on_host = false;  ///< on the host if true, else on this device
};

enum class memory_advice : std::uint8_t {
  set_read_mostly,
  unset_read_mostly,
  set_preferred_location,
  unset_preferred_location
};

}  // namespace sluice::backend
