#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "instrumentation/backend/kernel.hpp"
#include "instrumentation/backend/outcome.hpp"

// The device interface: what the runtime needs of a GPU, and nothing more. Two backends stand behind it: cuda/ drives
// NVIDIA's driver API, simulated/ keeps device memory in host RAM under a deterministic clock.
//
// All sizes are bytes and all times nanoseconds. Every function may be called from any thread. Nothing here throws.

namespace sluice::backend {

class simulated_clock;

/// A stream of one device. 0 is the default stream, which waits for, and holds up, every blocking stream.
enum class stream_handle : std::uintptr_t { null = 0 };
/// An event of one device.
enum class event_handle : std::uintptr_t { null = 0 };

/// Where an address lives.
enum class memory_space : std::uint8_t {
  pageable,  ///< ordinary host memory, not known to the driver
  pinned,    ///< page-locked host memory: allocated or registered
  device,
  managed,
};

enum class backend_kind : std::uint8_t { cuda, simulated };

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
};

struct memory_info {
  std::uint64_t free_bytes = 0;
  std::uint64_t total_bytes = 0;
};

/// What the driver's own stream-ordered pool holds.
struct driver_pool_info {
  std::uint64_t reserved_bytes = 0;
  std::uint64_t used_bytes = 0;
};

struct pinned_flags {
  bool mapped = false;
  bool write_combined = false;
};

struct stream_flags {
  bool non_blocking = false;  ///< no implicit order with the default stream
  int priority = 0;           ///< lower is more urgent, as in CUDA; clamped to the device's range
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

class device {
 public:
  device() = default;
  device(const device&) = delete;
  device& operator=(const device&) = delete;
  virtual ~device() = default;

  [[nodiscard]] virtual const device_description& description() const noexcept = 0;
  /// The clock of a simulated device, on which everything in its traces is timed; null for a real one.
  [[nodiscard]] virtual simulated_clock* clock() noexcept { return nullptr; }
  /// True if the driver layer of this device is in the recording by other means (the capture library, or the
  /// simulated device itself).
  [[nodiscard]] virtual bool driver_layer_recorded() const noexcept = 0;
  /// "13.0" for CUDA, "simulated" for the other.
  [[nodiscard]] virtual std::string driver_version() const = 0;

  /// A recording of this process's own begins, with its writer at `socket_name`. Where the capture library is to be had it is
  /// started, and `driver_layer_recorded` says so from then on.
  virtual void recording_begins(const std::string& /*socket_name*/) {}
  /// It ends; the device has been synchronised.
  virtual void recording_ends() {}
  /// Writes this device, its context, its streams and what is allocated now to the recording that has just begun.
  virtual void announce() = 0;
  /// The key under which records name a stream (collector::stream_key).
  [[nodiscard]] virtual std::uint64_t trace_stream(stream_handle stream) noexcept = 0;
  /// The address under which records name this memory: itself on CUDA; on the simulated device one that does not
  /// change from run to run, and 0 for pageable host memory.
  [[nodiscard]] virtual std::uint64_t trace_address(const void* address) noexcept = 0;

  // Memory. Freeing device or pinned memory waits for the device, as the driver does.
  [[nodiscard]] virtual outcome<void*> allocate(std::uint64_t bytes) = 0;
  [[nodiscard]] virtual outcome<void> free(void* address) = 0;
  [[nodiscard]] virtual outcome<void*> allocate_async(std::uint64_t bytes, stream_handle stream) = 0;
  [[nodiscard]] virtual outcome<void> free_async(void* address, stream_handle stream) = 0;
  [[nodiscard]] virtual outcome<void*> allocate_pinned(std::uint64_t bytes, pinned_flags flags) = 0;
  [[nodiscard]] virtual outcome<void> free_pinned(void* address) = 0;
  [[nodiscard]] virtual outcome<void> register_host(void* address, std::uint64_t bytes, bool read_only) = 0;
  [[nodiscard]] virtual outcome<void> unregister_host(void* address) = 0;
  [[nodiscard]] virtual outcome<void*> allocate_managed(std::uint64_t bytes) = 0;
  [[nodiscard]] virtual outcome<void> prefetch(void* address, std::uint64_t bytes, memory_location to,
                                               stream_handle stream) = 0;
  [[nodiscard]] virtual outcome<void> advise(void* address, std::uint64_t bytes, memory_advice advice,
                                             memory_location where) = 0;
  /// Says that the host is about to read or write this part of a managed block. On CUDA page faults say it by
  /// themselves.
  virtual void touch_on_host(void* address, std::uint64_t bytes) = 0;
  [[nodiscard]] virtual outcome<memory_info> memory() = 0;
  [[nodiscard]] virtual outcome<driver_pool_info> driver_pool() = 0;
  [[nodiscard]] virtual memory_space space_of(const void* address) noexcept = 0;

  // Streams and events.
  [[nodiscard]] virtual outcome<stream_handle> create_stream(stream_flags flags) = 0;
  virtual void destroy_stream(stream_handle stream) noexcept = 0;
  [[nodiscard]] virtual outcome<void> sync_stream(stream_handle stream) = 0;
  /// True once everything enqueued has finished.
  [[nodiscard]] virtual outcome<bool> stream_idle(stream_handle stream) = 0;
  [[nodiscard]] virtual outcome<event_handle> create_event(bool timed) = 0;
  virtual void destroy_event(event_handle event) noexcept = 0;
  [[nodiscard]] virtual outcome<void> record_event(event_handle event, stream_handle stream) = 0;
  [[nodiscard]] virtual outcome<void> wait_event(stream_handle stream, event_handle event) = 0;
  [[nodiscard]] virtual outcome<void> sync_event(event_handle event) = 0;
  [[nodiscard]] virtual outcome<bool> event_done(event_handle event) = 0;
  /// Milliseconds of device time between two recorded, finished, timed events.
  [[nodiscard]] virtual outcome<float> elapsed_ms(event_handle from, event_handle to) = 0;
  [[nodiscard]] virtual outcome<void> synchronize() = 0;

  // Work. The direction of a copy follows from where the addresses live.
  [[nodiscard]] virtual outcome<void> copy_async(void* to, const void* from, std::uint64_t bytes,
                                                 stream_handle stream) = 0;
  [[nodiscard]] virtual outcome<void> set_async(void* address, std::uint8_t value, std::uint64_t bytes,
                                                stream_handle stream) = 0;
  [[nodiscard]] virtual outcome<void> launch(const kernel_definition& kernel, const launch_shape& shape,
                                             kernel_arguments arguments, stream_handle stream) = 0;

  // What the simulated device wants to hear of the host side; no-ops elsewhere.
  virtual void host_spends(host_work /*work*/, std::uint64_t /*bytes*/) {}
  /// A file mapping: copies straight from it fault pages in and run slower than from ordinary memory.
  virtual void note_file_mapping(const void* /*address*/, std::uint64_t /*bytes*/) {}
  virtual void forget_file_mapping(const void* /*address*/) {}
};

}  // namespace sluice::backend
