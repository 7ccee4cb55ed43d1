#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "instrumentation/backend/device.hpp"
#include "instrumentation/runtime/stream.hpp"

namespace sluice::runtime {

class memory_resource;

namespace detail {
inline constexpr std::uintptr_t driver_legacy = 1, driver_per_thread = 2;  // CU_STREAM_LEGACY, CU_STREAM_PER_THREAD
/// A number for the calling thread, starting at 1. Never reused.
[[nodiscard]] std::uint64_t thread_number() noexcept;
}  // namespace detail

/// Internal: the state that all device_refs of one device share.
class device_state : public std::enable_shared_from_this<device_state> {
 public:
  device_state(std::shared_ptr<backend::device> device, int id);
  ~device_state();
  device_state(const device_state&) = delete;
  device_state& operator=(const device_state&) = delete;

  /// All device states of the process, oldest first.
  [[nodiscard]] static std::vector<std::shared_ptr<device_state>> all();

  [[nodiscard]] backend::device& device() const noexcept { return *device_; }
  [[nodiscard]] int id() const noexcept { return id_; }

  // Pools identify streams by stream_ref::identity: the handle, which is unique at any time, combined with a
  // number for the device, because default streams have the same handle on all devices. The driver's per-thread
  // stream is one handle for many streams, so its identity uses the thread's number instead of the handle.

  /// The stream's identity; for the per-thread stream, that of the calling thread.
  [[nodiscard]] std::uint64_t identify_recording(backend::stream_handle stream) const noexcept {
    return mark_ ^ (is_per_thread(stream) ? of_a_thread | detail::thread_number() : static_cast<std::uint64_t>(stream));
  }
  /// True for another thread's per-thread stream. The calling thread has no handle for it.
  [[nodiscard]] bool is_of_another_thread(std::uint64_t identity) const noexcept {
    return (identity & of_a_thread) != 0 && identity != (mark_ ^ (of_a_thread | detail::thread_number()));
  }
  /// The stream's handle for the calling thread. For another thread's per-thread stream, which has none, returns the
  /// default stream, because the two streams wait for each other.
  [[nodiscard]] backend::stream_handle get_handle(std::uint64_t identity) const noexcept {
    if (is_of_another_thread(identity)) return backend::stream_handle::null;
    return backend::stream_handle{(identity & of_a_thread) != 0 ? detail::driver_per_thread : identity ^ mark_};
  }
  [[nodiscard]] bool is_per_thread(backend::stream_handle stream) const noexcept {
    return static_cast<std::uintptr_t>(stream) == detail::driver_per_thread &&
           device_->description().kind == backend::backend_kind::cuda;
  }

  void observe(device_observer* observer) {
    const std::lock_guard lock(mutex_);
    observers_.push_back(observer);
  }
  void forget(device_observer* observer) noexcept;
  void retire(backend::stream_handle stream) noexcept;

  void announce() {
    device_->announce();
    const std::lock_guard lock(mutex_);
    notify_all([](device_observer* observer) { observer->announce(); });
  }

  /// Appends the allocated blocks of all pools to `to`. False if `limit` was reached before all pools were listed.
  [[nodiscard]] bool list_live(std::vector<pool_live_set>& to, const look_limit& limit);

  /// The default resource of buffers for device or pinned memory; null: the driver. The setter returns the previous
  /// resource.
  [[nodiscard]] std::shared_ptr<memory_resource> resource(bool pinned) {
    const std::lock_guard lock(resources_mutex_);
    return pinned ? pinned_resource_ : resource_;
  }
  std::shared_ptr<memory_resource> set_resource(bool pinned, std::shared_ptr<memory_resource> resource) {
    const std::lock_guard lock(resources_mutex_);
    std::swap(pinned ? pinned_resource_ : resource_, resource);
    return resource;
  }

 private:
  static constexpr std::uint64_t of_a_thread = std::uint64_t{1} << 63;
  /// A number for a device, in bits above all address bits and hence above all handles. Repeats after 32,767 devices.
  [[nodiscard]] static std::uint64_t next_mark() noexcept {
    static std::atomic<std::uint64_t> last{0};
    return (last.fetch_add(1) % 0x7fff + 1) << 48;
  }

  /// Call with the mutex held.
  template <class Notify>
  void notify_all(const Notify& notify) {
    for (device_observer* observer : observers_) {
      notify(observer);
    }
  }

  std::shared_ptr<backend::device> device_;
  int id_;
  std::uint64_t mark_ = next_mark();
  std::mutex mutex_;  ///< held while observers are called; they may wait for streams
  std::vector<device_observer*> observers_;
  std::mutex resources_mutex_;
  std::shared_ptr<memory_resource> resource_, pinned_resource_;
};

}  // namespace sluice::runtime
