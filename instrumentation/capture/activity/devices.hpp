#pragma once

#include <cuda.h>

#include "instrumentation/capture/activity/activity_layout.hpp"

/// The devices of the process: told of by CUPTI's records, or asked of the driver where CUPTI is not used. Each is announced when
/// its particulars come, and again when its link's do.
namespace sluice::capture {

void device_found(const layout::device_prefix& record) noexcept;
void link_found(const layout::pcie_prefix& record) noexcept;
/// Links between two devices, whose own records came before.
void peer_link_found(const layout::nvlink_prefix& record) noexcept;

/// Announces a device: name, memory and link, from the driver and from /sys, unless they are known. Some 50 us the first time.
void describe_device(CUdevice device) noexcept;

}  // namespace sluice::capture
