#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "instrumentation/backend/device.hpp"
#include "instrumentation/runtime/stream.hpp"

namespace sluice::runtime {

class memory_resource;

/// What all refs of one device share. Internal.
class device_state {
 public:
  device_state(std::shared_ptr<backend::device> device, int id) : device_(std::move(device)), id_(id) {}

  [[nodiscard]] backend::device& device() const noexcept { return *device_; }
  [[nodiscard]] int id() const noexcept { return id_; }

  /// The next pool's name in traces: its address would differ from run to run. The driver's pools have small numbers.
  [[nodiscard]] std::uint64_t next_pool_key() noexcept { return next_pool_.fetch_add(1); }

  void observe(device_observer* observer) {
    const std::lock_guard lock(mutex_);
    observers_.push_back(observer);
  }
  void forget(device_observer* observer) noexcept {
    const std::lock_guard lock(mutex_);
    std::erase(observers_, observer);
  }
  void retire(backend::stream_handle stream) noexcept {
    const std::lock_guard lock(mutex_);
    for (device_observer* observer : observers_) observer->retire(stream);
  }

  void announce() {
    device_->announce();
    const std::lock_guard lock(mutex_);
    for (device_observer* observer : observers_) observer->announce();
  }

  /// What buffers use, of device memory or of pinned; null: the driver's. Returns the one before.
  [[nodiscard]] std::shared_ptr<memory_resource> resource(bool pinned) {
    const std::lock_guard lock(mutex_);
    return pinned ? pinned_resource_ : resource_;
  }
  std::shared_ptr<memory_resource> set_resource(bool pinned, std::shared_ptr<memory_resource> resource) {
    const std::lock_guard lock(mutex_);
    std::swap(pinned ? pinned_resource_ : resource_, resource);
    return resource;
  }

 private:
  std::shared_ptr<backend::device> device_;
  int id_;
  std::atomic<std::uint64_t> next_pool_{1000};
  std::mutex mutex_;
  std::vector<device_observer*> observers_;
  std::shared_ptr<memory_resource> resource_, pinned_resource_;
};

}  // namespace sluice::runtime
