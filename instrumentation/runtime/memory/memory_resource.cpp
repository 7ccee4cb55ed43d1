#include "instrumentation/runtime/memory_resource.hpp"

#include <fmt/format.h>

#include <atomic>
#include <map>
#include <mutex>

#include "instrumentation/runtime/graph/past_capture.hpp"
#include "instrumentation/runtime/memory/driver_pools.hpp"

namespace sluice::runtime {

namespace {

void* address_or_throw(backend::device_result<void*> result, std::size_t bytes, const stream_ref& stream) {
  if (result) return *result;
  if (result.error().code == status::out_of_memory) {
    throw out_of_memory(std::move(result.error()), {bytes, stream.device().id(), stream.get(), false, {}});
  }
  throw error(std::move(result.error()));
}

// The frees below can fail only for a foreign address or a lost device, and then nothing
// can be done. If a capture may also use the block, it is freed with the graph.

void free_device(const device_ref& device, const stream_ref& stream, void* address) noexcept {
  past_capture(stream, put_off::until_graph_goes, [device, address] { (void)device.backend().free(address); });
}

void free_pinned(const device_ref& device, const stream_ref& stream, void* address) noexcept {
  // The driver's free does not guarantee to wait for the stream, whose work may still use the block.
  past_capture_and_stream(stream, put_off::until_graph_goes,
                          [device, address] { (void)device.backend().free_pinned(address); });
}

void free_managed(const device_ref& device, const stream_ref& stream, void* address) noexcept {
  past_capture_and_stream(stream, put_off::until_graph_goes,
                          [device, address] { (void)device.backend().free(address); });
}

/// The addresses from driver pools that belong to graphs: only these may be freed in a capture. Stores
/// the allocating capture, because the driver reuses an address after its free or its graph's end.
class graph_addresses {
 public:
  static graph_addresses& get() {
    // Never destroyed, because memory in static storage uses it when it is freed.
    static auto* const addresses = new graph_addresses;
    return *addresses;
  }
  void note(active_capture& capture, const device_ref& device, void* address) {
    {
      const std::lock_guard lock(mutex_);
      known_[{&device.backend(), address}] = capture.id();
      count_ = known_.size();
    }
    keep_for_later(capture, put_off::until_graph_goes,
                   [this, device, address, id = capture.id()] { forget(device, address, id); });
  }
  /// Removes the address; true if a graph owned it. Costs one load if there are no such addresses.
  bool take(const device_ref& device, void* address) {
    if (count_.load(std::memory_order_relaxed) == 0) return false;
    const std::lock_guard lock(mutex_);
    const bool was = known_.erase({&device.backend(), address}) != 0;
    count_ = known_.size();
    return was;
  }

 private:
  void forget(const device_ref& device, void* address, std::uint64_t capture) {
    const std::lock_guard lock(mutex_);
    const auto found = known_.find({&device.backend(), address});
    if (found != known_.end() && found->second == capture) known_.erase(found);
    count_ = known_.size();
  }

  std::mutex mutex_;
  std::map<std::pair<const backend::device*, void*>, std::uint64_t> known_;
  /// Relaxed is enough: a freeing thread got the address, and so the count, from the allocating thread.
  std::atomic<std::size_t> count_{0};
};

}  // namespace

void* driver_pools::allocated(const device_ref& device, const stream_ref& stream, std::size_t bytes,
                              backend::device_result<void*> result) {
  void* const address = address_or_throw(std::move(result), bytes, stream);
  if (const auto capture = find_capture(stream)) graph_addresses::get().note(*capture, device, address);
  return address;
}

void driver_pools::free(const device_ref& device, const stream_ref& stream, void* address) noexcept {
  if (!graph_addresses::get().take(device, address)) {
    if (const auto capture = find_capture(stream)) {
      return keep_for_later(*capture, put_off::until_graph_goes,
                            [device, stream, address] { free(device, stream, address); });
    }
  }
  (void)device.backend().free_async(address, stream.handle());
}

void memory_resource::refuse_alignment(std::size_t alignment) {
  throw error({status::invalid_value, 0, "allocate",
               fmt::format("alignment {}: expected a power of two up to {}", alignment, greatest_alignment)});
}

void memory_resource::refuse_address(const stream_ref& stream, void* address, std::size_t bytes,
                                     std::size_t alignment) {
  do_deallocate(stream, address, bytes);
  throw error(
      {status::invalid_value, 0, "allocate",
       fmt::format("the resource returned {}: expected an address aligned to {} bytes", fmt::ptr(address), alignment)});
}

void* memory_resource::allocate_sync(std::size_t bytes, std::size_t alignment) {
  const stream_ref stream(device_);
  void* address = allocate(stream, bytes, alignment);
  if (!address || !ordered()) return address;
  try {
    stream.sync();
  } catch (...) {
    deallocate(stream, address, bytes, alignment);
    throw;
  }
  return address;
}

void memory_resource::deallocate_sync(void* address, std::size_t bytes, std::size_t alignment) noexcept {
  deallocate(stream_ref(device_), address, bytes, alignment);
}

void* device_memory_resource::do_allocate(const stream_ref& stream, std::size_t bytes) {
  return address_or_throw(device().backend().allocate(bytes), bytes, stream);
}

void device_memory_resource::do_deallocate(const stream_ref& stream, void* address, std::size_t /*bytes*/) noexcept {
  free_device(device(), stream, address);
}

void* async_memory_resource::do_allocate(const stream_ref& stream, std::size_t bytes) {
  return driver_pools::allocated(device(), stream, bytes, device().backend().allocate_async(bytes, stream.handle()));
}

void async_memory_resource::do_deallocate(const stream_ref& stream, void* address, std::size_t /*bytes*/) noexcept {
  driver_pools::free(device(), stream, address);
}

void* pinned_memory_resource::do_allocate(const stream_ref& stream, std::size_t bytes) {
  return address_or_throw(device().backend().allocate_pinned(bytes, flags_), bytes, stream);
}

void pinned_memory_resource::do_deallocate(const stream_ref& stream, void* address, std::size_t /*bytes*/) noexcept {
  free_pinned(device(), stream, address);
}

void* managed_memory_resource::do_allocate(const stream_ref& stream, std::size_t bytes) {
  return address_or_throw(device().backend().allocate_managed(bytes), bytes, stream);
}

void managed_memory_resource::do_deallocate(const stream_ref& stream, void* address, std::size_t /*bytes*/) noexcept {
  free_managed(device(), stream, address);
}

}  // namespace sluice::runtime
