#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <vector>

#include "instrumentation/runtime/chunk_pipeline.hpp"
#include "instrumentation/runtime/kernel.hpp"
#include "tests/instrumentation/runtime/on_each_device.hpp"

namespace sluice::runtime {

/// Fixture for tests on both backends, with a temporary folder for files of random data.
class scratch_files : public on_each_device {
 protected:
  void SetUp() override {
    on_each_device::SetUp();
    const auto* about = ::testing::UnitTest::GetInstance()->current_test_info();
    std::string name = std::string(about->test_suite_name()) + about->name() + std::to_string(getpid());
    std::replace(name.begin(), name.end(), '/', '_');
    folder = std::filesystem::temp_directory_path() / ("sluice_" + name);
    std::filesystem::create_directories(folder);
  }
  void TearDown() override {
    on_each_device::TearDown();
    std::filesystem::remove_all(folder);
  }

  [[nodiscard]] std::filesystem::path make(const std::string& name, std::size_t bytes) const {
    std::mt19937_64 random(3);
    std::vector<std::uint64_t> content((bytes + 7) / 8);
    for (std::uint64_t& eight : content) eight = random();
    std::ofstream(folder / name, std::ios::binary)
        .write(reinterpret_cast<const char*>(content.data()), static_cast<std::streamsize>(bytes));
    return folder / name;
  }
  static std::vector<std::uint32_t> words(const std::filesystem::path& path) {
    std::vector<std::uint32_t> out(std::filesystem::file_size(path) / 4);
    std::ifstream(path, std::ios::binary)
        .read(reinterpret_cast<char*>(out.data()), static_cast<std::streamsize>(out.size() * 4));
    return out;
  }
  /// Reads the file from the disk: first drops its pages from the page cache, if the file system supports that.
  static std::vector<std::uint32_t> words_past_the_cache(const std::filesystem::path& path) {
    const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED);
    close(descriptor);
    return words(path);
  }
  static void times_three_plus_one(const chunk& c, const stream_ref& s) {
    launch(kernels::affine_u32, launch_config::for_size(c.device.size() / 4), s,
           reinterpret_cast<std::uint32_t*>(c.device.data()), std::uint64_t{c.device.size() / 4}, 3u, 1u, 1u);
  }
  static std::vector<std::uint32_t> all_times_three_plus_one(std::vector<std::uint32_t> values) {
    for (auto& v : values) v = v * 3 + 1;
    return values;
  }

  std::filesystem::path folder;
};

}  // namespace sluice::runtime
