#include "core/free_memory.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace sluice {
namespace {

class free_memory : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(root_); }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void put(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }

  const std::string root_ =
      (std::filesystem::temp_directory_path() / ("sluice-memory-" + std::to_string(::getpid()))).string();
};

TEST_F(free_memory, is_what_the_machine_has_left) {
  put("/proc/meminfo", "MemTotal:  32000 kB\nMemFree:  100 kB\nMemAvailable:   20000 kB\n");
  EXPECT_EQ(free_memory_bytes(root_), 20'480'000U);
}

TEST_F(free_memory, is_no_more_than_the_container_may_take) {
  put("/proc/meminfo", "MemAvailable: 20000 kB\n");
  put("/sys/fs/cgroup/memory.max", "5000000\n");
  put("/sys/fs/cgroup/memory.current", "1000000\n");
  EXPECT_EQ(free_memory_bytes(root_), 4'000'000U);
  put("/sys/fs/cgroup/memory.current", "6000000\n");
  EXPECT_EQ(free_memory_bytes(root_), 0U);
  put("/sys/fs/cgroup/memory.max", "max\n");
  EXPECT_EQ(free_memory_bytes(root_), 20'480'000U);
}

TEST_F(free_memory, has_no_bound_where_nobody_says) {
  EXPECT_EQ(free_memory_bytes(root_), UINT64_MAX);
  put("/proc/meminfo", "MemAvailable: lots\n");
  EXPECT_EQ(free_memory_bytes(root_), 0U);
}

TEST(free_memory_here, is_known) {
  EXPECT_GT(free_memory_bytes(), 1'000'000U);
  EXPECT_LT(free_memory_bytes(), std::uint64_t{1} << 60);
}

}  // namespace
}  // namespace sluice
