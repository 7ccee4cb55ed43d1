#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "instrumentation/backend/cuda/open.hpp"
#include "instrumentation/backend/simulated/device/device.hpp"

namespace sluice::backend {

/// Fixture for tests on both backends: on a new simulated device, and on the first CUDA device if there is one.
class on_each_backend : public ::testing::TestWithParam<backend_kind> {
 protected:
  void SetUp() override {
    if (GetParam() == backend_kind::simulated) {
      device_ = make_simulated_device();
      return;
    }
    static const cuda_devices found = open_cuda_devices();
    if (found.devices.empty()) GTEST_SKIP() << "skipped: no CUDA device (" << found.why_none << ")";
    device_ = found.devices.front();
  }
  void TearDown() override {
    if (device_) (void)device_->synchronize();
  }

  [[nodiscard]] device& dev() const { return *device_; }
  [[nodiscard]] bool simulated() const { return GetParam() == backend_kind::simulated; }

  /// The value that a call returned; fails the test if the call failed.
  template <class T>
  static T got(device_result<T> result) {
    EXPECT_TRUE(result) << describe(result.error());
    return result ? std::move(*result) : T{};
  }
  static void done(const device_result<void>& result) { EXPECT_TRUE(result) << describe(result.error()); }

 private:
  std::shared_ptr<device> device_;
};

inline std::string name_of_backend(const ::testing::TestParamInfo<backend_kind>& about) {
  return about.param == backend_kind::simulated ? "simulated" : "cuda";
}

#define SLUICE_ON_EACH_BACKEND(suite) \
  INSTANTIATE_TEST_SUITE_P(each, suite, ::testing::Values(backend_kind::simulated, backend_kind::cuda), name_of_backend)

}  // namespace sluice::backend
