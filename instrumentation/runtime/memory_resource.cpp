#include "instrumentation/runtime/memory_resource.hpp"

#include <fmt/format.h>

#include <mutex>
#include <set>

#include "instrumentation/runtime/graph.hpp"

namespace sluice::runtime {

namespace {

// No resource here gives less than this: the driver's own granule and the pools'.
constexpr std::size_t greatest_alignment = 512;

void* address_or_throw(backend::outcome<void*> result, std::size_t bytes, const stream_ref& stream) {
  if (result) return *result;
  if (result.error().code == status::out_of_memory) {
    throw out_of_memory(std::move(result.error()), {bytes, stream.device().id(), stream.get(), false, {}});
  }
  throw error(std::move(result.error()));
}

using free_call = void (*)(const device_ref&, const stream_ref&, void*) noexcept;

/// A block given up in a capture. Goes with what was captured, and is freed then.
struct put_off {
  device_ref device;
  stream_ref stream;
  void* address;
  free_call free;

  put_off(const device_ref& d, const stream_ref& s, void* a, free_call f) : device(d), stream(s), address(a), free(f) {}
  put_off(const put_off&) = delete;
  put_off& operator=(const put_off&) = delete;
  ~put_off() { free(device, stream, address); }
};

/// A capture forbids to free, and to wait for what must be waited for; to try breaks it. What it captured may use the block
/// besides. False if nothing is in the way.
bool put_off_free(const device_ref& device, const stream_ref& stream, void* address, free_call free) {
  const auto capture = capture_that_holds(stream);
  if (capture) capture->keep(std::make_shared<put_off>(device, stream, address, free));
  return capture != nullptr;
}

// Frees below cannot fail but for an address that never was theirs, or a device that has gone; neither leaves
// anything to do.

void free_device(const device_ref& device, const stream_ref& stream, void* address) noexcept {
  if (!put_off_free(device, stream, address, free_device)) (void)device.backend().free(address);
}

/// Addresses from the driver's pool that are a graph's: only these may be freed in a capture.
struct graph_addresses {
  std::mutex mutex;
  std::set<std::pair<const backend::device*, void*>> known;

  static graph_addresses& get() {
    // Never destroyed: memory in static storage asks when it goes.
    static auto* const all = new graph_addresses;
    return *all;
  }
};

void free_async(const device_ref& device, const stream_ref& stream, void* address) noexcept {
  if (const auto capture = capture_of(stream)) {
    graph_addresses& graphs = graph_addresses::get();
    const std::lock_guard lock(graphs.mutex);
    if (graphs.known.erase({&device.backend(), address}) == 0) {
      return capture->keep(std::make_shared<put_off>(device, stream, address, free_async));
    }
  }
  (void)device.backend().free_async(address, stream.handle());
}

void free_pinned(const device_ref& device, const stream_ref& stream, void* address) noexcept {
  if (put_off_free(device, stream, address, free_pinned)) return;
  // The driver's free does not wait for the stream as far as it promises; work on it may still use these bytes.
  (void)device.backend().sync_stream(stream.handle());
  (void)device.backend().free_pinned(address);
}

void free_managed(const device_ref& device, const stream_ref& stream, void* address) noexcept {
  if (put_off_free(device, stream, address, free_managed)) return;
  (void)device.backend().sync_stream(stream.handle());
  (void)device.backend().free(address);
}

}  // namespace

void* memory_resource::allocate(const stream_ref& stream, std::size_t bytes, std::size_t alignment) {
  // By hand: where no processor with an instruction for it may be assumed, std::has_single_bit is a call that counts bits.
  const bool power_of_two = alignment != 0 && (alignment & (alignment - 1)) == 0;
  if (!power_of_two || alignment > greatest_alignment) [[unlikely]] {
    throw error({status::invalid_value, 0, "allocate",
                 fmt::format("alignment {}: expected a power of two up to {}", alignment, greatest_alignment)});
  }
  if (bytes == 0) return nullptr;
  void* address = do_allocate(stream, bytes);
  if ((reinterpret_cast<std::uintptr_t>(address) & (alignment - 1)) != 0) [[unlikely]] {
    do_deallocate(stream, address, bytes);
    throw error(
        {status::invalid_value, 0, "allocate",
         fmt::format("the resource gave {}: expected an address aligned to {} bytes", fmt::ptr(address), alignment)});
  }
  return address;
}

void memory_resource::deallocate(const stream_ref& stream, void* address, std::size_t bytes,
                                 std::size_t /*alignment*/) noexcept {
  if (address) do_deallocate(stream, address, bytes);
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
  const bool captured = capture_of(stream) != nullptr;
  void* address = address_or_throw(device().backend().allocate_async(bytes, stream.handle()), bytes, stream);
  if (captured) {
    const std::lock_guard lock(graph_addresses::get().mutex);
    graph_addresses::get().known.emplace(&device().backend(), address);
  }
  return address;
}

void async_memory_resource::do_deallocate(const stream_ref& stream, void* address, std::size_t /*bytes*/) noexcept {
  free_async(device(), stream, address);
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
