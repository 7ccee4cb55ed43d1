#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "instrumentation/runtime/memory_resource.hpp"

// Other allocators of device memory, with which Sluice's pool is compared.

namespace sluice::bench {

/// An allocator by name. `make` creates a new instance, so that each benchmark starts with an empty allocator.
struct peer {
  std::string name;
  std::function<runtime::resource_ptr()> make;
};

/// Sluice's pool first, then the driver's allocators, then PyTorch's allocator if SLUICE_BENCH_TORCH names a library
/// that exports it (runtime_table.py builds one if PyTorch is installed).
[[nodiscard]] std::vector<peer> find_peers(const runtime::device_ref& device);

}  // namespace sluice::bench
