#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "instrumentation/runtime/memory_resource.hpp"

// Who else allocates memory of a device: what a pool is measured against.

namespace sluice::bench {

/// Makes one anew, so that no line finds what another has left behind.
struct peer {
  std::string name;
  std::function<runtime::resource_ptr()> make;
};

/// Sluice's pool first, then the driver's ways, then PyTorch's allocator where SLUICE_BENCH_TORCH names a library that
/// exports it (runtime_table.py makes one where PyTorch is installed).
[[nodiscard]] std::vector<peer> peers_of(const runtime::device_ref& device);

}  // namespace sluice::bench
