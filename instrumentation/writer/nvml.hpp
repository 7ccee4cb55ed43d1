#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

/// Queries links between GPUs from NVIDIA's management library (NVML). The library is part of the driver. Only the
/// writer opens it, never a recorded process: under CUPTI (`--mode timeline`), the records already contain this.
namespace sluice::collector {

/// A GPU's UUID as two words, as in `device_record`.
using gpu_uuid = std::pair<std::uint64_t, std::uint64_t>;

/// Theoretical bytes/s in one direction, summed over the active NVLinks of each GPU in `gpus`. Omits GPUs without
/// NVLink; empty without the library. Takes up to about 100 ms. Not thread-safe. `library`: name or path of NVML.
[[nodiscard]] std::map<gpu_uuid, std::uint64_t> nvlink_peaks(const std::vector<gpu_uuid>& gpus,
                                                             const std::string& library = "libnvidia-ml.so.1");

}  // namespace sluice::collector
