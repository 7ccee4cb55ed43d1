#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "instrumentation/runtime/device.hpp"

namespace sluice::runtime {

class event;
class stream;
class look_limit;
struct pool_live_set;

/// Interface for objects, such as pools, that a device notifies of destroyed streams, new recordings and lost records.
class device_observer {
 public:
  virtual ~device_observer() = default;
  /// Called before a stream is destroyed.
  virtual void retire(backend::stream_handle stream) noexcept = 0;
  /// The device calls this when a recording has begun. The observer writes its current state (such as all allocated
  /// blocks) into the recording.
  virtual void announce() noexcept = 0;
  /// Called after events were lost. Appends all allocated blocks to `to`; returns false if `limit` was reached. Throws
  /// std::bad_alloc.
  [[nodiscard]] virtual bool list_live(std::vector<pool_live_set>& to, const look_limit& limit) = 0;
};

/// How pools detect that other code captures a stream (for example by cudaStreamBeginCapture).
enum class foreign_captures : std::uint8_t {
  asked_about,  ///< pools ask the driver at each allocation: one call (50 to 100 ns)
  announced,    ///< the other code announces captures in advance (`announced_captures::begin`)
};

/// A handle to a stream. It is cheap to copy. It shares ownership, so memory that must be freed on a stream can keep
/// the stream alive after the `stream` object is destroyed. Streams from `from_native` still belong to their creator.
class stream_ref {
 public:
  /// Refers to the default stream of a device.
  explicit stream_ref(const device_ref& device);
  // NOLINTNEXTLINE(google-explicit-constructor): a stream is a stream_ref wherever one is asked for
  stream_ref(const stream& owner) noexcept;

  /// Wraps a native handle (a CUstream); the caller must keep it alive. 0 and 1 (CU_STREAM_LEGACY) are the
  /// default stream. 2 (CU_STREAM_PER_THREAD) is a different stream in each thread: memory allocated on it
  /// must be freed by the same thread. `captures` states how pools learn that other code captures this stream.
  [[nodiscard]] static stream_ref from_native(const device_ref& device, std::uintptr_t handle,
                                              foreign_captures captures = foreign_captures::asked_about);

  [[nodiscard]] const device_ref& device() const noexcept;
  /// The native handle; 0 for the default stream.
  [[nodiscard]] std::uintptr_t get() const noexcept { return static_cast<std::uintptr_t>(facts_->handle); }
  [[nodiscard]] backend::stream_handle handle() const noexcept { return facts_->handle; }
  /// A number that identifies the stream among all streams of all devices in the
  /// process. The driver's per-thread stream has a different number in each thread.
  [[nodiscard]] std::uint64_t identity() const noexcept {
    return facts_->identity != 0 ? facts_->identity : identity_here();
  }
  /// Like identity(), but 0 for the driver's per-thread stream.
  [[nodiscard]] std::uint64_t fixed_identity() const noexcept { return facts_->identity; }
  /// Like fixed_identity(), but also 0 for streams that other code may capture, because a pool must ask the driver
  /// about these.
  [[nodiscard]] std::uint64_t plain_identity() const noexcept { return facts_->plain_identity; }
  /// Equals `compute_hash(fixed_identity())`.
  [[nodiscard]] unsigned hash() const noexcept { return facts_->hash; }
  /// A hash in 0 .. `hashes` - 1, for small tables indexed by stream. The multiplication
  /// mixes handles that differ only in a few bits (Fibonacci hashing, Knuth vol. 3, 6.4).
  [[nodiscard]] static unsigned compute_hash(std::uint64_t identity) noexcept {
    return static_cast<unsigned>((identity * 0x9E3779B97F4A7C15u) >> 61);
  }
  static constexpr std::size_t hashes = 8;
  /// True if only the driver knows whether the stream is being captured, because the stream belongs to other code and
  /// is not the default stream. The runtime's own streams are captured only by `graph_capture`.
  [[nodiscard]] bool may_be_captured_by_others() const noexcept { return facts_->may_be_captured_by_others; }
  /// The priority with which the stream was created. Throws error on failure.
  [[nodiscard]] int priority() const;

  /// Waits for all work enqueued so far. Throws error on failure.
  void sync() const;
  /// True if all enqueued work is done. Throws error on failure.
  [[nodiscard]] bool is_idle() const;
  /// Records `e` at the current end of the stream. Throws error on failure.
  void record(event& e) const;
  /// Makes later work on this stream wait for `e`, on the device. The host does not wait. Throws error on failure.
  void wait(const event& e) const;

  friend bool operator==(const stream_ref& a, const stream_ref& b) noexcept {
    return a.get() == b.get() && a.device() == b.device();
  }

 private:
  friend class stream;
  // Properties that pools read at each call.
  struct facts {
    std::uint64_t identity = 0;  // 0: differs between threads
    backend::stream_handle handle{};
    bool may_be_captured_by_others = false;
    unsigned hash = 0;
    std::uint64_t plain_identity = 0;
  };
  struct state;
  explicit stream_ref(const std::shared_ptr<state>& s) noexcept;
  [[nodiscard]] std::uint64_t identity_here() const noexcept;
  std::shared_ptr<const facts> facts_;  // points to a `state`
};

/// Whether a stream synchronizes with the default stream.
enum class stream_mode : std::uint8_t { blocking, non_blocking };

/// Owns a stream. The object is move-only. The native stream is destroyed with the last stream_ref, after waiting for
/// any work that a pool still depends on.
class stream {
 public:
  /// Creates a stream on the current device, or on the given one. A lower `priority` is more urgent.
  /// Throws error on failure, and if `priority` is outside `stream_priorities` (the driver would silently clamp it).
  explicit stream(stream_mode mode = stream_mode::non_blocking, int priority = 0);
  explicit stream(const device_ref& device, stream_mode mode = stream_mode::non_blocking, int priority = 0);
  stream(stream&&) noexcept = default;
  stream& operator=(stream&&) noexcept = default;

  [[nodiscard]] const device_ref& device() const noexcept { return ref_.device(); }
  [[nodiscard]] std::uintptr_t get() const noexcept { return ref_.get(); }
  void sync() const { ref_.sync(); }
  [[nodiscard]] bool is_idle() const { return ref_.is_idle(); }
  [[nodiscard]] int priority() const { return ref_.priority(); }
  void record(event& e) const { ref_.record(e); }
  void wait(const event& e) const { ref_.wait(e); }

 private:
  friend class stream_ref;
  stream_ref ref_;
};

using backend::priority_range;
/// The valid stream priorities of a device. `greatest` is the most urgent priority, and the lowest number.
[[nodiscard]] priority_range stream_priorities(const device_ref& device = current_device());

/// The default stream of the current device.
[[nodiscard]] stream_ref default_stream();
/// The calling thread's own stream on the device, created on first use. Like the driver's per-thread default stream, it
/// synchronizes with the default stream, but not with other threads' streams. Memory allocated on it is freed on it,
/// whichever thread frees it. The stream is destroyed when the thread has ended and the last stream_ref is destroyed.
[[nodiscard]] stream_ref per_thread_stream(const device_ref& device = current_device());
/// The calling thread's stream on the current device: set by the innermost stream_guard, else the default stream.
[[nodiscard]] stream_ref current_stream();

/// Sets the calling thread's stream, and its device, for a scope.
class stream_guard {
 public:
  /// Throws the same errors as `set_device`.
  explicit stream_guard(const stream_ref& s);
  ~stream_guard();
  stream_guard(const stream_guard&) = delete;
  stream_guard& operator=(const stream_guard&) = delete;

 private:
  device_guard device_;
};

/// Calls `function` on the host when the stream reaches this point; later work waits until the function returns. The
/// function runs on a driver thread (on the simulated device, on the thread that first passes that time). It must not
/// call the device, and an exception from it ends the program. In a capture, the function becomes a node, is kept as
/// long as the graph, and runs at each launch. Throws error on failure, and in a foreign capture, because the runtime
/// cannot know how long to keep the function.
void launch_host_func(const stream_ref& stream, std::function<void()> function);

/// How `event::sync` waits on the host.
enum class event_wait : std::uint8_t {
  spin,   ///< busy-waits on a core: lowest latency
  sleep,  ///< lets other threads use the core
};

/// A point in a stream, without a timestamp. The object is move-only.
class event {
 public:
  /// Creates an event; `wait` selects how `sync` waits. Throws error on failure.
  explicit event(const device_ref& device = current_device(), event_wait wait = event_wait::spin)
      : event(device, backend::event_flags{.blocking_sync = wait == event_wait::sleep}) {}
  ~event();
  event(event&& other) noexcept;
  event& operator=(event&& other) noexcept;

  /// Records the event at the current end of the stream. Throws error on failure.
  void record(const stream_ref& s) { s.record(*this); }
  /// Blocks the host until the event is done. Throws error on failure.
  void sync() const;
  /// True if the stream has passed the event, or if the event was never recorded. Throws error on failure.
  [[nodiscard]] bool is_done() const;
  /// The driver's handle (a CUevent).
  [[nodiscard]] std::uintptr_t get() const noexcept { return static_cast<std::uintptr_t>(handle_); }
  [[nodiscard]] backend::event_handle handle() const noexcept { return handle_; }

 protected:
  event(const device_ref& device, backend::event_flags flags);
  event(const device_ref& device, backend::event_handle handle) : device_(device), handle_(handle) {}
  [[nodiscard]] const device_ref& device() const noexcept { return device_; }

 private:
  device_ref device_;
  backend::event_handle handle_{};
};

/// An event with a timestamp.
class timed_event : public event {
 public:
  explicit timed_event(const device_ref& device = current_device(), event_wait wait = event_wait::spin)
      : event(device, backend::event_flags{.timed = true, .blocking_sync = wait == event_wait::sleep}) {}

  /// Device time between two events. Throws error unless both are done.
  friend std::chrono::duration<float, std::milli> elapsed(const timed_event& row, const timed_event& to);
};

[[nodiscard]] std::chrono::duration<float, std::milli> elapsed(const timed_event& row, const timed_event& to);

using backend::ipc_event_handle;

/// An event shared by two processes. One process records the event, and the other waits for the event. It has no
/// timestamp. On the simulated device, recording the event completes all earlier work at once, because the waiting
/// process cannot advance the recording process's clock.
class ipc_event : public event {
 public:
  /// Creates an event that can be shared. Throws error if the device has no IPC support.
  explicit ipc_event(const device_ref& device = current_device())
      : event(device, backend::event_flags{.interprocess = true}) {}
  /// Opens an event that another process has shared and not destroyed. Throws error on failure.
  [[nodiscard]] static ipc_event open(const ipc_event_handle& handle, const device_ref& device = current_device());
  /// A handle for the other process: plain bytes, to be sent over any channel. Throws error on failure.
  [[nodiscard]] ipc_event_handle share() const;

 private:
  ipc_event(const device_ref& device, backend::event_handle handle) : event(device, handle) {}
};

}  // namespace sluice::runtime
