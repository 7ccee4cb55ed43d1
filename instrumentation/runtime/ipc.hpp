#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "instrumentation/runtime/device.hpp"

// Device memory that two processes share. One process shares a block and sends its handle over any channel. The other
// process opens the handle. Use an ipc_event (stream.hpp) to order their accesses. In a recording of both processes,
// the opened block is linked to the original, and its bytes count once.

namespace sluice::runtime {

/// Identifies a block of memory to other processes. The handle consists of plain bytes.
struct shared_memory_handle {
  backend::ipc_memory_handle block{};  ///< the driver allocation that contains the memory
  std::uint64_t offset = 0;            ///< offset in that allocation, in bytes
  std::uint64_t bytes = 0;
};

/// Makes [address, address + bytes) accessible to other processes. The memory must come directly from
/// the driver, or from a pool with `ipc_capable`. The owner must not free the memory until the other processes
/// have closed it. They can access the whole driver allocation that contains the memory. Throws error for
/// memory from driver pools, mapped memory, a range outside its block, or a device without IPC support.
[[nodiscard]] shared_memory_handle share_memory(const void* address, std::size_t bytes,
                                                const device_ref& device = current_device());

/// Device memory of another process, which stays open while this object lives. The object is move-only. Only the owner
/// frees the memory.
class imported_memory {
 public:
  /// Opens the memory. Must be called in a process other than the owner, for the same device. Throws error on failure.
  explicit imported_memory(const shared_memory_handle& handle, const device_ref& device = current_device());
  /// Waits for the device and then closes the memory. If the wait fails, the memory stays open. If a `graph_capture`
  /// forbids waiting, the memory stays open until the graph and everything created from it is destroyed, because nodes
  /// may use the memory.
  ~imported_memory();
  imported_memory(imported_memory&& other) noexcept;
  imported_memory& operator=(imported_memory&& other) noexcept;

  [[nodiscard]] void* data() const noexcept { return static_cast<std::byte*>(block_) + offset_; }
  [[nodiscard]] std::size_t size_bytes() const noexcept { return bytes_; }
  /// Views the memory as values of T. Bytes at the end that do not fill a value are ignored.
  template <class T>
  [[nodiscard]] std::span<T> as() const noexcept {
    return {static_cast<T*>(data()), bytes_ / sizeof(T)};
  }

 private:
  device_ref device_;
  void* block_ = nullptr;
  std::uint64_t offset_ = 0, bytes_ = 0;
};

}  // namespace sluice::runtime
