#include "instrumentation/backend/cuda/open.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <fstream>

#include "instrumentation/backend/cuda/device.hpp"

namespace sluice::backend {

namespace {

using cuda::driver;

// Reads a property of the device's bus link from sysfs, because the driver API does not have it.
template <class T>
T read_pci(const std::string& bus_id, const char* file) {
  std::string id = bus_id;
  std::transform(id.begin(), id.end(), id.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  T value{};
  std::ifstream("/sys/bus/pci/devices/" + id + "/" + file) >> value;
  return value;
}

void describe_link(const driver& d, CUdevice which, device_description& out) {
  char bus_id[32] = {};
  if (d.device_pci(bus_id, sizeof bus_id, which) != CUDA_SUCCESS) return;
  const auto transfers = read_pci<double>(bus_id, "max_link_speed");  // "32.0 GT/s PCIe"
  out.link_width = read_pci<std::uint32_t>(bus_id, "max_link_width");
  // Speeds by generation: 2.5, 5, 8, 16, 32, 64 GT/s. The line code takes a fifth of the rate in the first two, 2 of
  // 130 bits up to 32 GT/s, and nothing at 64.
  constexpr double speeds[] = {2.5, 5, 8, 16, 32, 64};
  for (std::uint32_t i = 0; i < 6; ++i) {
    if (transfers >= speeds[i]) out.link_generation = i + 1;
  }
  const double coding = out.link_generation <= 2 ? 0.8 : out.link_generation <= 5 ? 128.0 / 130 : 1.0;
  out.link_peak = transfers * 1e9 * out.link_width / 8 * coding;
}

device_description describe(const driver& d, CUdevice which, int ordinal) {
  device_description out;
  out.kind = backend_kind::cuda;
  out.ordinal = static_cast<std::uint32_t>(ordinal);
  char name[256] = {};
  if (d.device_name(name, sizeof name, which) == CUDA_SUCCESS) out.name = name;
  CUuuid uuid{};
  if (d.device_uuid(&uuid, which) == CUDA_SUCCESS) std::memcpy(out.uuid.data(), uuid.bytes, out.uuid.size());
  std::size_t bytes = 0;
  if (d.device_memory(&bytes, which) == CUDA_SUCCESS) out.memory_bytes = bytes;
  const auto attribute = [&](CUdevice_attribute attribute_id) {
    int value = 0;
    return d.device_attribute(&value, attribute_id, which) == CUDA_SUCCESS ? static_cast<std::uint32_t>(value) : 0u;
  };
  out.multiprocessors = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  out.compute_major = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  out.compute_minor = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  out.features.virtual_memory = attribute(CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED) != 0;
  out.features.driver_pools = attribute(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED) != 0;
  out.features.shares_memory = attribute(CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED) != 0;
  out.features.batches_copies = d.copy_batch != nullptr && CUDA_VERSION >= 13000;
  describe_link(d, which, out);
  return out;
}

}  // namespace

cuda_devices open_cuda_devices() {
  cuda_devices found;
  const auto& opened = driver::get();
  if (!opened) {
    found.why_none = opened.error().detail;
    return found;
  }
  const driver& d = *opened;
  d.driver_version(&found.driver_version);
  int count = 0;
  if (const CUresult result = d.device_count(&count); result != CUDA_SUCCESS) {
    found.why_none = describe(d.fail(result, "cuDeviceGetCount").value());
    return found;
  }
  for (int i = 0; i < count; ++i) {
    CUdevice which = 0;
    if (d.device_get(&which, i) != CUDA_SUCCESS) continue;
    found.devices.push_back(std::make_shared<cuda::cuda_device>(d, which, describe(d, which, i)));
  }
  if (found.devices.empty()) found.why_none = "the NVIDIA driver found no device";
  return found;
}

int cuda_built_version() noexcept { return CUDA_VERSION; }

}  // namespace sluice::backend
