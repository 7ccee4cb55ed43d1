#include "app/processes/gpu_driver.hpp"

#include <algorithm>
#include <array>
#include <filesystem>

namespace sluice::processes {

bool has_gpu_driver(const std::string& root) {
  static constexpr std::array places = {
      "proc/driver/nvidia/version", "dev/nvidiactl", "dev/nvidia0", "dev/dxg", "dev/nvhost-gpu", "dev/nvgpu"};
  return std::any_of(places.begin(), places.end(), [&](const char* place) {
    std::error_code failed;
    return std::filesystem::exists(std::filesystem::path(root) / place, failed);
  });
}

}  // namespace sluice::processes
