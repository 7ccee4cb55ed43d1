#include "app/processes/gpu_driver.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace sluice::processes {
namespace {

class gpu_driver : public ::testing::Test {
 protected:
  gpu_driver() { std::filesystem::remove_all(root); }
  ~gpu_driver() override { std::filesystem::remove_all(root); }
  void make(const std::string& place) const {
    std::filesystem::create_directories((root / place).parent_path());
    std::ofstream(root / place) << "x";
  }
  const std::filesystem::path root = std::filesystem::temp_directory_path() / "sluice-gpu-driver-test";
};

TEST_F(gpu_driver, is_not_there_on_a_machine_without_one) {
  make("dev/null");
  EXPECT_FALSE(has_gpu_driver(root.string()));
  EXPECT_FALSE(has_gpu_driver((root / "none").string()));
}

TEST_F(gpu_driver, is_seen_by_its_kernel_module_or_its_device_files) {
  for (const char* place : {"proc/driver/nvidia/version", "dev/nvidiactl", "dev/dxg"}) {
    make(place);
    EXPECT_TRUE(has_gpu_driver(root.string())) << place;
    std::filesystem::remove_all(root);
  }
}

}  // namespace
}  // namespace sluice::processes
