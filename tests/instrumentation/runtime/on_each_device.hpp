#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

#include "instrumentation/backend/simulated/device/device.hpp"
#include "instrumentation/runtime/device.hpp"

namespace sluice::runtime {

/// Fixture for tests on both backends: on a new simulated device, and on the first CUDA device if there is one.
class on_each_device : public ::testing::TestWithParam<backend::backend_kind> {
 protected:
  void SetUp() override {
    if (GetParam() == backend::backend_kind::simulated) {
      device_.emplace(backend::make_simulated_device());
    } else if (is_available()) {
      device_ = devices().front();
    } else {
      GTEST_SKIP() << "skipped: no CUDA device (" << why_unavailable() << ")";
    }
    guard_ = std::make_unique<device_guard>(*device_);
  }
  void TearDown() override {
    guard_.reset();
    if (device_) device_->sync();
  }

  [[nodiscard]] const device_ref& device() const { return *device_; }
  [[nodiscard]] bool simulated() const { return GetParam() == backend::backend_kind::simulated; }

 private:
  std::optional<device_ref> device_;
  std::unique_ptr<device_guard> guard_;
};

inline std::string backend_name(const ::testing::TestParamInfo<backend::backend_kind>& about) {
  return about.param == backend::backend_kind::simulated ? "simulated" : "cuda";
}

#define SLUICE_ON_EACH_DEVICE(suite) \
  INSTANTIATE_TEST_SUITE_P(          \
      each, suite, ::testing::Values(backend::backend_kind::simulated, backend::backend_kind::cuda), backend_name)

}  // namespace sluice::runtime
