#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

/// What NVIDIA's management library says of links between GPUs. It is part of the driver, opened at run time by the writer, never in a
/// recorded process: where CUPTI records a process (`--mode timeline`) it tells the same.
namespace sluice::collector {

/// A GPU's UUID, as `device_record` has it.
using gpu_uuid = std::pair<std::uint64_t, std::uint64_t>;

/// Theoretical bytes/s one way over all active NVLinks of each of `gpus`; those without are left out, all of them if the library is not
/// there. Takes up to some 100 ms. Not thread-safe. `library`: its name, or path.
[[nodiscard]] std::map<gpu_uuid, std::uint64_t> nvlink_peaks(const std::vector<gpu_uuid>& gpus,
                                                             const std::string& library = "libnvidia-ml.so.1");

}  // namespace sluice::collector
