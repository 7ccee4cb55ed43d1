#pragma once

#include <cstddef>
#include <cstdint>

/// A small caching allocator in the manner of PyTorch's: segments from the driver, blocks within them, each reported to libc10
/// while the allocator's mutex is held. Found by dlsym, as a library that Python loads is.
struct fake_allocator {
  virtual ~fake_allocator() = default;
  /// Multiples of 512 bytes. Null: out of memory, reported as such.
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void release(void* address) = 0;
  virtual std::size_t allocated() = 0;
  virtual std::size_t reserved() = 0;
  /// A host tensor in shared memory: PyTorch reports it as the CPU's.
  virtual void report_host_tensor(void* address, std::int64_t bytes) = 0;
};
/// `expandable`: one range of addresses, mapped in chunks of 2 MiB as it is needed; else segments of 2 MiB or more.
extern "C" __attribute__((visibility("default"))) fake_allocator* fake_torch_allocator(bool expandable);
