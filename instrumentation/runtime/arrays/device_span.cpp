#include "instrumentation/runtime/device_span.hpp"

#include <fmt/format.h>

namespace sluice::runtime {

namespace detail {

void require_values(const void* data, std::size_t bytes, std::size_t size, std::size_t alignment, const char* call) {
  if (bytes % size != 0) refuse(call, fmt::format("{} bytes are not a multiple of the value size {}", bytes, size));
  if (reinterpret_cast<std::uintptr_t>(data) % alignment != 0) {
    refuse(call, fmt::format("address {} is not aligned to {} bytes", data, alignment));
  }
}

std::ptrdiff_t device_offset(const void* address, const device_ref& device) {
  const auto about = value_or_throw(device.backend().describe_pointer(address));
  if (!about.device_address) refuse("mapped_array", fmt::format("{} is not mapped: kernels cannot access it", address));
  return static_cast<const std::byte*>(about.device_address) - static_cast<const std::byte*>(address);
}

namespace {

const resource_ptr& get_resource(const buffer& memory) {
  if (!memory.resource()) refuse("device_span", "the buffer is empty or was moved from");
  return memory.resource();
}

}  // namespace

shared_buffer::shared_buffer(buffer memory)
    : data(memory.data()),
      bytes(memory.size_bytes()),
      space(get_resource(memory)->space()),
      device(memory.resource()->device()),
      owner(std::make_shared<buffer>(std::move(memory))) {}

}  // namespace detail

namespace {

device_span<std::byte> checked(void* data, std::size_t bytes, memory_owner owner, const device_ref& device) {
  constexpr const char* call = "unowned_buffer";
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  if (!data) refuse(call, "the address is null");
  if (bytes > UINTPTR_MAX - begin) refuse(call, fmt::format("{} bytes at {} exceed the address space", bytes, data));
  const auto about = value_or_throw(device.backend().describe_pointer(data));
  if (about.space == memory_space::pageable) {
    refuse(call,
           fmt::format("{} is ordinary host memory or not allocated; expected device, managed or pinned memory", data));
  }
  if (about.space == memory_space::device && about.device != static_cast<int>(device.description().ordinal)) {
    refuse(call, fmt::format("{} is memory of device {}, not of device {}", data, about.device,
                             device.description().ordinal));
  }
  const auto base = reinterpret_cast<std::uintptr_t>(about.base);
  if (about.base && (begin < base || bytes > about.bytes - (begin - base))) {
    refuse(call, fmt::format("{} bytes at {} exceed the block ({} bytes at {})", bytes, data, about.bytes, about.base));
  }
  return {static_cast<std::byte*>(data), bytes, std::move(owner), about.space, device};
}

}  // namespace

unowned_buffer::unowned_buffer(void* data, std::size_t bytes, memory_owner owner, const device_ref& device)
    : span_(checked(data, bytes, std::move(owner), device)) {}

}  // namespace sluice::runtime
