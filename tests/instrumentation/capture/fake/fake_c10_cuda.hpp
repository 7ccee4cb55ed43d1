#pragma once

#include <cstddef>
#include <cstdint>

/// A small caching allocator modeled on PyTorch's: segments from the driver and blocks within them, each reported to
/// libc10 while the allocator's mutex is held. Programs look it up with dlsym, because Python loads the real library at
/// run time.
struct fake_allocator {
  virtual ~fake_allocator() = default;
  /// Rounds `bytes` up to a multiple of 512. If memory is exhausted, reports that to libc10 and returns null.
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void release(void* address) = 0;
  virtual std::size_t allocated() = 0;
  virtual std::size_t reserved() = 0;
  /// Reports a host tensor in shared memory, as PyTorch does for CPU memory.
  virtual void report_host_tensor(void* address, std::int64_t bytes) = 0;
};
/// `expandable`: one address range, mapped in chunks of 2 MiB as needed; otherwise segments of 2 MiB or more.
extern "C" __attribute__((visibility("default"))) fake_allocator* fake_torch_allocator(bool expandable);
