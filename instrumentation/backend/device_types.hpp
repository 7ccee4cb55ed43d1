#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

// What the device interface (device.hpp) speaks of. All sizes are bytes and all times nanoseconds.

namespace sluice::backend {

/// A stream of one device. 0 is the default stream, which waits for, and holds up, every blocking stream.
enum class stream_handle : std::uintptr_t { null = 0 };
/// An event of one device.
enum class event_handle : std::uintptr_t { null = 0 };
/// Bytes of device memory without an address (cuMemCreate).
enum class physical_handle : std::uint64_t { null = 0 };
/// One of the driver's own stream-ordered pools (cuMemPool); null: the device's default pool.
enum class pool_handle : std::uintptr_t { null = 0 };
/// A graph, and an executable one made of it.
enum class graph_handle : std::uintptr_t { null = 0 };
enum class graph_exec_handle : std::uintptr_t { null = 0 };

/// Where an address lives.
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

/// What a device can do beyond what every device does. A call for what it cannot do answers `not_supported`.
struct device_features {
  bool virtual_memory = false;  ///< addresses, bytes and mappings apart (cuMemMap)
  bool driver_pools = false;    ///< stream-ordered allocation, and pools of one's own
  bool shares_memory = false;   ///< memory and events that other processes open (IPC)
  bool batches_copies = false;  ///< many copies in one call; elsewhere a batch is a loop
};

struct device_description {
  backend_kind kind = backend_kind::simulated;
  std::uint32_t ordinal = 0;            ///< the backend's own number; not an identity
  std::array<std::uint8_t, 16> uuid{};  ///< the identity
  std::string name;
  std::uint64_t memory_bytes = 0;
  double link_peak = 0;  ///< theoretical bytes per second of one direction of the host link, 0 if unknown
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

/// How a driver's pool is made.
struct driver_pool_options {
  std::uint64_t max_bytes = 0;  ///< it never reserves more; 0: no limit. Needs a driver of CUDA 12.2 or later
};

/// What one of the driver's pools holds.
struct driver_pool_info {
  std::uint64_t reserved_bytes = 0;
  std::uint64_t used_bytes = 0;
  std::uint64_t reserved_high = 0;      ///< the most since the pool was made, or its highs were reset
  std::uint64_t used_high = 0;          ///< likewise
  std::uint64_t release_threshold = 0;  ///< bytes it keeps when a stream or the device is synchronised
};

struct pinned_flags {
  bool portable = true;         ///< pinned for every device of the process
  bool mapped = false;          ///< kernels may use it, at `pointer_info::device_address`
  bool write_combined = false;  ///< not cached: the host writes it fast and reads it very slowly

  friend bool operator==(const pinned_flags&, const pinned_flags&) = default;
};

struct registration_flags {
  bool read_only = false;  ///< the device only reads it: what a read-only file mapping needs
  bool portable = true;
  bool mapped = false;
};

/// What a device knows about an address.
struct pointer_info {
  memory_space space = memory_space::pageable;
  int device = -1;                 ///< ordinal of the device that it was allocated for; -1: pageable
  void* base = nullptr;            ///< of the block, or of the reserved range, that it lies in; null if pageable
  std::uint64_t bytes = 0;         ///< of that block, 0 if pageable
  void* host_address = nullptr;    ///< where the host reaches these bytes; null for device memory
  void* device_address = nullptr;  ///< where kernels reach them; null if they cannot
  bool managed = false;
  bool mapped = false;  ///< host memory that kernels may use
  pinned_flags flags{
      .portable = false, .mapped = false, .write_combined = false};  ///< of pinned memory: as it was made
};

struct stream_flags {
  bool non_blocking = false;  ///< no implicit order with the default stream
  int priority = 0;           ///< lower is more urgent; must lie in the device's range
};

/// Priorities that streams may have. Lower numbers are more urgent: `greatest` <= `least`.
struct priority_range {
  int least = 0;
  int greatest = 0;

  [[nodiscard]] bool contains(int priority) const noexcept { return greatest <= priority && priority <= least; }
  /// Why `priority` is refused, in one line.
  [[nodiscard]] std::string refusal(int priority) const {
    return "priority " + std::to_string(priority) + ": this device has " + std::to_string(greatest) +
           " (most urgent) to " + std::to_string(least);
  }
};

/// Whether work enqueued on a stream runs, or becomes part of a graph.
enum class capture_status : std::uint8_t {
  none,
  active,
  invalidated,  ///< by a call that is not allowed meanwhile: ending it gives an error and no graph
};
struct capture_info {
  capture_status status = capture_status::none;
  std::uint64_t id = 0;  ///< of the capture, unique in the process; streams that were forked share it
};
/// Which threads' unsafe calls (those that may wait for a capturing stream) a capture forbids.
enum class capture_mode : std::uint8_t { global, this_thread, relaxed };

struct event_flags {
  bool timed = false;
  bool blocking_sync = false;  ///< who waits sleeps instead of spinning
  bool interprocess = false;   ///< other processes may open it; never with `timed`
};

/// What one process gives another so that it can open an event, or a block of memory. Plain bytes: send them any way.
struct ipc_event_handle {
  std::array<std::byte, 64> bytes{};
};
struct ipc_memory_handle {
  std::array<std::byte, 64> bytes{};
};

/// One copy of a batch. The direction follows from where the addresses live.
struct copy_piece {
  void* to = nullptr;
  const void* from = nullptr;
  std::uint64_t bytes = 0;
};

/// Host code in stream order. It must not call the device.
using host_function = void (*)(void* data);

/// What a node of a graph does.
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
/// A graph's shape: nodes in the order in which they were made, and edges by position in it.
struct graph_shape {
  std::vector<graph_node_kind> nodes;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;  ///< from, to; sorted
};

struct graph_exec_options {
  bool free_on_launch = false;   ///< a launch first frees what the launch before allocated and did not free
  bool node_priorities = false;  ///< nodes keep the priorities of the streams they were captured on; else the launch's
};

/// Host work whose cost the simulated device charges to the calling thread's clock; real devices charge nothing, time
/// passes by itself.
enum class host_work : std::uint8_t {
  read_file,    ///< pread from the page cache
  write_file,   ///< pwrite to the page cache
  copy_memory,  ///< memcpy between host buffers
  flush_file,
};

/// Where managed memory should be, for prefetch and advice.
struct memory_location {
  bool on_host = false;  ///< else on this device
};

enum class memory_advice : std::uint8_t {
  set_read_mostly,
  unset_read_mostly,
  set_preferred_location,
  unset_preferred_location
};

}  // namespace sluice::backend
