#pragma once

#include <gtest/gtest.h>

#include "instrumentation/runtime/library_handle.hpp"
#include "tests/instrumentation/runtime/on_each_device.hpp"

namespace sluice::runtime {

/// Fixture for tests of library handles. Skips them where cuBLAS cannot be used.
class libraries : public on_each_device {
 protected:
  void SetUp() override {
    on_each_device::SetUp();
    if (IsSkipped() || simulated()) return;
    try {
      const library_handle<cublas> there;
    } catch (const error& e) {
      GTEST_SKIP() << "skipped: " << e.what();
    }
  }
  void TearDown() override {
    library_handle<cublas>::release_all();
    on_each_device::TearDown();
  }
};

}  // namespace sluice::runtime
