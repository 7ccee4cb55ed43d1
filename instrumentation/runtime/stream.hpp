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

/// Hears what happens to a device: pools, which remember streams by handle.
class device_observer {
 public:
  virtual ~device_observer() = default;
  /// The stream is about to go.
  virtual void retire(backend::stream_handle stream) noexcept = 0;
  /// A recording has begun: say what there is.
  virtual void announce() noexcept = 0;
  /// Memory events were lost: adds what it has given out. False: it could not in time. Throws std::bad_alloc.
  [[nodiscard]] virtual bool list_live(std::vector<pool_live_set>& to, const look_limit& limit) = 0;
};

/// How pools learn of captures that others begin on a stream (by cudaStreamBeginCapture, say).
enum class foreign_captures : std::uint8_t {
  asked_about,  ///< they ask the driver at each allocation: one call (50 to 100 ns)
  announced,    ///< who begins one says so before (`announced_captures::begin`)
};

/// A stream, named: cheap to copy. It shares ownership, so memory that must be freed on a stream can hold on to it
/// after the `stream` object is gone; streams wrapped by `from_native` stay their owner's.
class stream_ref {
 public:
  /// The default stream of a device.
  explicit stream_ref(const device_ref& device);
  // NOLINTNEXTLINE(google-explicit-constructor): a stream is a stream_ref wherever one is asked for
  stream_ref(const stream& owner) noexcept;

  /// Wraps a native handle (a CUstream); the caller keeps it alive. 0 and 1 (CU_STREAM_LEGACY) are the default stream. 2
  /// (CU_STREAM_PER_THREAD) names another stream in each thread that uses it: what is to be freed on it must be freed by
  /// the thread that allocated it. `captures` says how pools learn that others capture it.
  [[nodiscard]] static stream_ref from_native(const device_ref& device, std::uintptr_t handle,
                                              foreign_captures captures = foreign_captures::asked_about);

  [[nodiscard]] const device_ref& device() const noexcept;
  /// The native handle; 0 for the default stream.
  [[nodiscard]] std::uintptr_t get() const noexcept { return static_cast<std::uintptr_t>(facts_->handle); }
  [[nodiscard]] backend::stream_handle handle() const noexcept { return facts_->handle; }
  /// A number for the stream that no other stream of the process has, of whichever device. The driver's per-thread stream is
  /// another one in each thread.
  [[nodiscard]] std::uint64_t identity() const noexcept {
    return facts_->identity != 0 ? facts_->identity : identity_here();
  }
  /// The same, but 0 of the driver's per-thread stream.
  [[nodiscard]] std::uint64_t fixed_identity() const noexcept { return facts_->identity; }
  /// The same where a pool has nobody to ask about the stream first: 0 as well where others may capture it.
  [[nodiscard]] std::uint64_t plain_identity() const noexcept { return facts_->plain_identity; }
  /// `hash_of(fixed_identity())`.
  [[nodiscard]] unsigned hash() const noexcept { return facts_->hash; }
  /// For small tables by stream: below `hashes`. A multiplication mixes handles that differ in a few bits only (Fibonacci hashing,
  /// Knuth vol. 3, 6.4).
  [[nodiscard]] static unsigned hash_of(std::uint64_t identity) noexcept {
    return static_cast<unsigned>((identity * 0x9E3779B97F4A7C15u) >> 61);
  }
  static constexpr std::size_t hashes = 8;
  /// True if nobody but the driver knows whether it is being captured: it is a stream of others', and no default stream. Streams of
  /// the runtime's own are captured by `graph_capture`.
  [[nodiscard]] bool may_be_captured_by_others() const noexcept { return facts_->may_be_captured_by_others; }
  /// What it was created with. Throws error.
  [[nodiscard]] int priority() const;

  /// Waits for everything enqueued so far. Throws error.
  void sync() const;
  /// True if nothing is left to do. Throws error.
  [[nodiscard]] bool is_idle() const;
  /// Marks this point of the stream in `e`.
  void record(event& e) const;
  /// Work enqueued from now on waits for `e`, on the device; the host does not wait.
  void wait(const event& e) const;

  friend bool operator==(const stream_ref& a, const stream_ref& b) noexcept {
    return a.get() == b.get() && a.device() == b.device();
  }

 private:
  friend class stream;
  // What pools ask at each call.
  struct facts {
    std::uint64_t identity = 0;  // 0: another in each thread
    backend::stream_handle handle{};
    bool may_be_captured_by_others = false;
    unsigned hash = 0;
    std::uint64_t plain_identity = 0;
  };
  struct state;
  explicit stream_ref(const std::shared_ptr<state>& s) noexcept;
  [[nodiscard]] std::uint64_t identity_here() const noexcept;
  std::shared_ptr<const facts> facts_;  // a state
};

/// Whether a stream keeps order with the default stream.
enum class stream_mode : std::uint8_t { blocking, non_blocking };

/// Owns a stream; move-only. Its handle is destroyed when the last stream_ref goes, after its work where a pool still
/// waits for it.
class stream {
 public:
  /// Creates one on the current device, or the one given. `priority`: lower is more urgent. Throws error, also for a priority
  /// outside `stream_priorities`, which the driver would have clamped without a word.
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
/// The priorities that streams of the device may have; `greatest` is the most urgent, and the lowest number. Throws error.
[[nodiscard]] priority_range stream_priorities(const device_ref& device = current_device());

/// The default stream of the current device.
[[nodiscard]] stream_ref default_stream();
/// The calling thread's own stream on the device, made at its first use: like the driver's per-thread default stream it keeps order
/// with the default stream and with no other thread's. Memory that is freed on it later, by whichever thread, is freed on the
/// stream of the thread that asked. It goes with the thread and the last stream_ref. Throws error.
[[nodiscard]] stream_ref per_thread_stream(const device_ref& device = current_device());
/// The calling thread's stream on the current device: the innermost stream_guard's, else the default stream.
[[nodiscard]] stream_ref current_stream();

/// Makes a stream the calling thread's own for a scope, and its device with it.
class stream_guard {
 public:
  explicit stream_guard(const stream_ref& s);
  ~stream_guard();
  stream_guard(const stream_guard&) = delete;
  stream_guard& operator=(const stream_guard&) = delete;

 private:
  device_guard device_;
};

/// Calls `function` on the host once the stream gets there; work enqueued afterwards waits until it has returned. It runs on a
/// thread of the driver's (on the simulated device, on the thread that first passes that time), must not call the device,
/// and what it throws ends the program. Captured, it becomes a node, lives as long as the graph, and is called at each
/// launch. Throws error, also in a capture that this runtime did not begin: nobody would say how long to keep the function.
void launch_host_func(const stream_ref& stream, std::function<void()> function);

/// How `event::sync` waits.
enum class event_wait : std::uint8_t {
  spin,   ///< the thread keeps a core busy: the quickest
  sleep,  ///< it gives the core away
};

/// A point in a stream, without a time. Move-only.
class event {
 public:
  explicit event(const device_ref& device = current_device(), event_wait how = event_wait::spin)
      : event(device, backend::event_flags{.blocking_sync = how == event_wait::sleep}) {}
  ~event();
  event(event&& other) noexcept;
  event& operator=(event&& other) noexcept;

  void record(const stream_ref& s) { s.record(*this); }
  /// The host waits for it. Throws error.
  void sync() const;
  /// True once the stream has passed it, and before it was ever recorded.
  [[nodiscard]] bool is_done() const;
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

/// An event that knows its time.
class timed_event : public event {
 public:
  explicit timed_event(const device_ref& device = current_device(), event_wait how = event_wait::spin)
      : event(device, backend::event_flags{.timed = true, .blocking_sync = how == event_wait::sleep}) {}

  /// Device time from one to the other; both must be done. Throws error.
  friend std::chrono::duration<float, std::milli> elapsed(const timed_event& from, const timed_event& to);
};

[[nodiscard]] std::chrono::duration<float, std::milli> elapsed(const timed_event& from, const timed_event& to);

using backend::ipc_event_handle;

/// An event that two processes have: one records it, the other waits for it. It has no time, so it is no timed_event. On the
/// simulated device the recording process's bytes move at once when it is recorded: the other cannot make its clock pass.
class ipc_event : public event {
 public:
  /// Makes one. Throws error: a device that shares nothing.
  explicit ipc_event(const device_ref& device = current_device())
      : event(device, backend::event_flags{.interprocess = true}) {}
  /// Opens the one that another process shared, while that one keeps it. Throws error.
  [[nodiscard]] static ipc_event open(const ipc_event_handle& handle, const device_ref& device = current_device());
  /// What the other process opens: plain bytes, to be sent any way. Throws error.
  [[nodiscard]] ipc_event_handle share() const;

 private:
  ipc_event(const device_ref& device, backend::event_handle handle) : event(device, handle) {}
};

}  // namespace sluice::runtime
