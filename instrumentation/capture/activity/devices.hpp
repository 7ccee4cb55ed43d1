#pragma once

#include <cuda.h>

#include "instrumentation/capture/process/activity_layout.hpp"

/// Functions that describe the GPUs visible to this process to the writer. The properties come from CUPTI's records, or
/// from the driver if CUPTI is not used. A GPU's record is sent when its properties arrive, and again when the
/// properties of its PCIe link arrive.
namespace sluice::capture {

void device_found(const layout::device_prefix& record) noexcept;
void link_found(const layout::pcie_prefix& record) noexcept;
/// Records the NVLink links between two GPUs. `device_found` must have been called for both.
void peer_link_found(const layout::nvlink_prefix& record) noexcept;

/// Sends a GPU's name, memory and link, read from the driver and /sys, to the writer, once per GPU. The first call for
/// a GPU takes 50 us.
void describe_device(CUdevice device) noexcept;

}  // namespace sluice::capture
