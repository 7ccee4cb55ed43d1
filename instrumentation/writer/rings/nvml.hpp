#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

/// Queries links between GPUs from NVIDIA's management library (NVML). The library is part of the driver. Only the
/// writer opens the library, never a recorded process. Under CUPTI (`--mode timeline`), the records already contain the
/// links.
namespace sluice::writer {

/// A GPU's UUID as two words, as in `device_record`.
using gpu_uuid = std::pair<std::uint64_t, std::uint64_t>;

/// For each GPU in `gpus`: the theoretical bytes/s in one direction, summed over the GPU's active NVLinks. Omits GPUs
/// without NVLink; empty without the library. `library`: name or path of NVML. Takes up to about 100 ms. Not
/// thread-safe.
[[nodiscard]] std::map<gpu_uuid, std::uint64_t> nvlink_peaks(const std::vector<gpu_uuid>& gpus,
                                                             const std::string& library = "libnvidia-ml.so.1");

}  // namespace sluice::writer
