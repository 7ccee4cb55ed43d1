#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <thread>

#include "core/trace/file/reader.hpp"

/// Helpers for tests of recordings that another process sends.
namespace sluice::remote {

/// Waits until `condition` holds. Returns false if it does not hold within 20 s.
inline bool becomes(const std::function<bool()>& condition) {
  for (int i = 0; i < 1000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return false;
}

inline std::size_t kernels_in(const trace::snapshot& recording) {
  std::size_t count = 0;
  EXPECT_TRUE(recording.for_each<trace::kernel_event>([&](const trace::kernel_event&) { ++count; }));
  return count;
}

inline std::string bytes_of_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace sluice::remote
