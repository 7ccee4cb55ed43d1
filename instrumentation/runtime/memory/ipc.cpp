#include "instrumentation/runtime/ipc.hpp"

#include <fmt/format.h>

#include <utility>

#include "instrumentation/runtime/graph/past_capture.hpp"

namespace sluice::runtime {

shared_memory_handle share_memory(const void* address, std::size_t bytes, const device_ref& device) {
  const auto about = value_or_throw(device.backend().describe_pointer(address));
  const std::uint64_t offset =
      about.base
          ? static_cast<std::uint64_t>(static_cast<const std::byte*>(address) - static_cast<std::byte*>(about.base))
          : 0;
  if (!about.base || bytes == 0 || offset > about.bytes || bytes > about.bytes - offset) {
    throw error({status::invalid_value, 0, "share_memory",
                 fmt::format("{} bytes: expected a range inside one block of device memory", bytes)});
  }
  return {value_or_throw(device.backend().export_memory(about.base)), offset, bytes};
}

imported_memory::imported_memory(const shared_memory_handle& handle, const device_ref& device)
    : device_(device),
      block_(value_or_throw(device.backend().import_memory(handle.block))),
      offset_(handle.offset),
      bytes_(handle.bytes) {
  const auto about = device.backend().describe_pointer(block_);
  if (about && handle.offset <= about->bytes && handle.bytes <= about->bytes - handle.offset) return;
  (void)device.backend().close_memory(block_);
  throw error({status::invalid_value, 0, "imported_memory", "the handle's range exceeds its block"});
}

imported_memory::~imported_memory() {
  if (!block_) return;
  past_capture(device_, put_off::until_graph_goes, [device = device_, block = block_] {
    // If the wait fails, work may still use the memory: keep it open.
    if (device.backend().synchronize()) (void)device.backend().close_memory(block);
  });
}

imported_memory::imported_memory(imported_memory&& other) noexcept
    : device_(other.device_),
      block_(std::exchange(other.block_, nullptr)),
      offset_(std::exchange(other.offset_, 0)),
      bytes_(std::exchange(other.bytes_, 0)) {}

imported_memory& imported_memory::operator=(imported_memory&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(block_, other.block_);
  std::swap(offset_, other.offset_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

}  // namespace sluice::runtime
