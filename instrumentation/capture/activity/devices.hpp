#pragma once

#include <cuda.h>

#include "instrumentation/capture/activity/activity_layout.hpp"

/// The devices of the process, from CUPTI's records, or from the driver if CUPTI is not used. A device is announced to
/// the writer when its properties arrive, and again when those of its link arrive.
namespace sluice::capture {

void device_found(const layout::device_prefix& record) noexcept;
void link_found(const layout::pcie_prefix& record) noexcept;
/// Handles links between two devices. The records of both devices must have come before.
void peer_link_found(const layout::nvlink_prefix& record) noexcept;

/// Announces a device (name, memory, link) from the driver and /sys, unless already done. About 50 us the first time.
void describe_device(CUdevice device) noexcept;

}  // namespace sluice::capture
