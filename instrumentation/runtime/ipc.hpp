#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "instrumentation/runtime/device.hpp"

// Device memory that two processes have. One shares a block and sends the handle, any way it likes; the other opens it. Which
// of them writes when is ordered by an ipc_event (stream.hpp). In a recording of both, the second's block leads to the
// first's, and its bytes count once.

namespace sluice::runtime {

/// Names memory of a process to others. Plain bytes.
struct shared_memory_handle {
  backend::ipc_memory_handle block{};  ///< the driver's block that holds it
  std::uint64_t offset = 0;            ///< in that block, in bytes
  std::uint64_t bytes = 0;
};

/// Makes [address, address + bytes) known to other processes: memory of the driver's own, or of a pool made of such (one that is
/// `ipc_capable`). The owner must keep it until the others have let go. Others can reach all of the driver's block that
/// holds it. Throws error: memory from the driver's pools, mapped memory, a range that leaves its block, a device that
/// shares nothing.
[[nodiscard]] shared_memory_handle share_memory(const void* address, std::size_t bytes,
                                                const device_ref& device = current_device());

/// Memory of another process's, for as long as this lives. Move-only. Never freed by us.
class imported_memory {
 public:
  /// Opens it: in another process than the owner's, on the same device, while the owner keeps it. Throws error.
  explicit imported_memory(const shared_memory_handle& handle, const device_ref& device = current_device());
  /// Waits for the device, so that no work of this process still uses it; where it cannot be waited for, the memory stays. While a
  /// `graph_capture` forbids to wait, the memory stays until the graph goes, and everything made of it: its nodes may use it.
  ~imported_memory();
  imported_memory(imported_memory&& other) noexcept;
  imported_memory& operator=(imported_memory&& other) noexcept;

  [[nodiscard]] void* data() const noexcept { return static_cast<std::byte*>(block_) + offset_; }
  [[nodiscard]] std::size_t size_bytes() const noexcept { return bytes_; }
  /// The memory as values of T, whole ones only.
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
