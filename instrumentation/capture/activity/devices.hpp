#pragma once

#include <cuda.h>

#include "instrumentation/capture/activity/activity_layout.hpp"

/// The GPUs that this process sees, described by CUPTI's records, or by the driver if CUPTI is not used. The writer is
/// told of a GPU when its properties arrive, and again when the properties of its PCIe link arrive.
namespace sluice::capture {

void device_found(const layout::device_prefix& record) noexcept;
void link_found(const layout::pcie_prefix& record) noexcept;
/// Records the NVLink links between two GPUs. `device_found` must have been called for both.
void peer_link_found(const layout::nvlink_prefix& record) noexcept;

/// Tells the writer a GPU's name, memory and link, read from the driver and /sys. Once per GPU; the first takes 50 us.
void describe_device(CUdevice device) noexcept;

}  // namespace sluice::capture
