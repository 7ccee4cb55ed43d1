#include "instrumentation/writer/rings/nvml.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <memory>
#include <optional>

namespace sluice::writer {
namespace {

// From nvml.h, which is not needed for building. These parts have not changed since their introduction.
using nvml_device = struct nvmlDevice_st*;
constexpr int nvml_success = 0;
constexpr unsigned max_links = 64;     // An H200 has 18; NVML returns an error for links beyond the last one.
constexpr unsigned speed_field = 164;  // NVML_FI_DEV_NVLINK_GET_SPEED: MB/s of link `scope`
constexpr unsigned version_4_0 = 6;    // NVML_NVLINK_VERSION_4_0: Hopper
constexpr unsigned unsigned_int = 1;
struct field_value {
  unsigned field = 0;
  unsigned scope = 0;
  long long timestamp = 0;
  long long latency = 0;
  unsigned type = 0;
  int result = 0;
  union {
    double real;
    unsigned number;
    unsigned long long wide;
  } value{};
};
static_assert(sizeof(field_value) == 40);

struct closer {
  void operator()(void* library) const { dlclose(library); }
};

/// The opened library.
class management {
 public:
  explicit management(const std::string& name) : library_(dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    find(init_, "nvmlInit_v2");
    find(shutdown_, "nvmlShutdown");
    find(by_uuid_, "nvmlDeviceGetHandleByUUID");
    find(link_state_, "nvmlDeviceGetNvLinkState");
    find(link_version_, "nvmlDeviceGetNvLinkVersion");
    find(fields_, "nvmlDeviceGetFieldValues");
    ready_ = library_ != nullptr && complete_ && init_() == nvml_success;
  }
  management(const management&) = delete;
  ~management() {
    if (ready_) shutdown_();
  }

  [[nodiscard]] std::optional<std::uint64_t> nvlink_peak(const gpu_uuid& gpu) const {
    nvml_device device = nullptr;
    if (!ready_ || by_uuid_(to_text(gpu).c_str(), &device) != nvml_success) return std::nullopt;
    std::uint64_t megabytes = 0;
    unsigned version = 0;
    for (unsigned link = 0; link < max_links; ++link) {
      unsigned active = 0;
      if (link_state_(device, link, &active) != nvml_success || active == 0) continue;
      if (link_version_(device, link, &version) != nvml_success) version = 0;
      field_value speed;
      speed.field = speed_field;
      speed.scope = link;
      const bool known =
          fields_(device, 1, &speed) == nvml_success && speed.result == nvml_success && speed.type == unsigned_int;
      if (known && speed.value.number <= max_megabytes) megabytes += speed.value.number;
    }
    if (megabytes == 0) return std::nullopt;
    // Raw rate on the wire. For an H200 (18 links of 26,562 MB/s), CUPTI reports 849.96 GB/s for both directions: 8/9.
    const std::uint64_t raw = megabytes * 1'000'000;
    return version >= version_4_0 ? raw / 9 * 8 : raw;
  }

 private:
  static constexpr unsigned max_megabytes = 10'000'000;

  template <class Function>
  void find(Function& function, const char* name) {
    if (library_ != nullptr) function = reinterpret_cast<Function>(dlsym(library_.get(), name));
    complete_ = complete_ && function != nullptr;
  }

  static std::string to_text(const gpu_uuid& gpu) {
    const auto& [high, low] = gpu;
    return fmt::format("GPU-{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", high >> 32, (high >> 16) & 0xFFFF, high & 0xFFFF,
                       low >> 48, low & 0xFFFF'FFFF'FFFF);
  }

  std::unique_ptr<void, closer> library_;
  bool complete_ = true;
  bool ready_ = false;
  int (*init_)() = nullptr;
  int (*shutdown_)() = nullptr;
  int (*by_uuid_)(const char*, nvml_device*) = nullptr;
  int (*link_state_)(nvml_device, unsigned, unsigned*) = nullptr;
  int (*link_version_)(nvml_device, unsigned, unsigned*) = nullptr;
  int (*fields_)(nvml_device, int, field_value*) = nullptr;
};

}  // namespace

std::map<gpu_uuid, std::uint64_t> nvlink_peaks(const std::vector<gpu_uuid>& gpus, const std::string& library) {
  std::map<gpu_uuid, std::uint64_t> found;
  const management asked(library);
  for (const gpu_uuid& gpu : gpus) {
    if (const auto peak = asked.nvlink_peak(gpu)) found.emplace(gpu, *peak);
  }
  return found;
}

}  // namespace sluice::writer
