#include "instrumentation/runtime/memory_resource.hpp"

#include <fmt/format.h>

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
  if (address && ordered()) stream.sync();
  return address;
}

void memory_resource::deallocate_sync(void* address, std::size_t bytes, std::size_t alignment) noexcept {
  deallocate(stream_ref(device_), address, bytes, alignment);
}

// Frees below cannot fail but for an address that never was theirs, or a device that has gone; neither leaves
// anything to do.

void* device_memory_resource::do_allocate(const stream_ref& stream, std::size_t bytes) {
  return address_or_throw(device().backend().allocate(bytes), bytes, stream);
}

void device_memory_resource::do_deallocate(const stream_ref& /*stream*/, void* address,
                                           std::size_t /*bytes*/) noexcept {
  (void)device().backend().free(address);
}

void* async_memory_resource::do_allocate(const stream_ref& stream, std::size_t bytes) {
  return address_or_throw(device().backend().allocate_async(bytes, stream.handle()), bytes, stream);
}

void async_memory_resource::do_deallocate(const stream_ref& stream, void* address, std::size_t /*bytes*/) noexcept {
  (void)device().backend().free_async(address, stream.handle());
}

void* pinned_memory_resource::do_allocate(const stream_ref& stream, std::size_t bytes) {
  return address_or_throw(device().backend().allocate_pinned(bytes, flags_), bytes, stream);
}

void pinned_memory_resource::do_deallocate(const stream_ref& stream, void* address, std::size_t /*bytes*/) noexcept {
  // The driver's free does not wait for the stream as far as it promises; work on it may still use these bytes.
  (void)device().backend().sync_stream(stream.handle());
  (void)device().backend().free_pinned(address);
}

void* managed_memory_resource::do_allocate(const stream_ref& stream, std::size_t bytes) {
  return address_or_throw(device().backend().allocate_managed(bytes), bytes, stream);
}

void managed_memory_resource::do_deallocate(const stream_ref& stream, void* address, std::size_t /*bytes*/) noexcept {
  (void)device().backend().sync_stream(stream.handle());
  (void)device().backend().free(address);
}

}  // namespace sluice::runtime
