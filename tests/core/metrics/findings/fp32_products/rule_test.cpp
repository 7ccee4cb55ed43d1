#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/metrics/findings/finding_rules.hpp"
#include "core/metrics/make_report.hpp"
#include "tests/core/metrics/findings/fp32_products/product_recording.hpp"
#include "tests/core/metrics/reports.hpp"

namespace sluice::metrics {
namespace {

using testing::add_product;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::us;
using testing::wasteful_recording;

struct program {
  std::uint32_t major = 9, minor = 0;
  time_ns products = 50;     ///< How many us of each 100 us are products; the rest are other kernels.
  bool host_behind = false;  ///< The host requests each kernel when the device has none.
  std::string_view other = "elementwise";
};

report make_report(const program& subject) {
  wasteful_recording recorded;
  testing::set_capability(recorded, subject.major, subject.minor);
  for (time_ns i = 0; i < 100; ++i) {
    const time_ns length = subject.host_behind ? 300 : 100;
    const time_ns at = 1000 + i * length, middle = at + subject.products;
    add_product(recorded, subject.host_behind ? at - 5 : 1 + i, at, middle);
    add_product(recorded, subject.host_behind ? at - 4 : 1 + i, middle, at + 100, subject.other);
  }
  return testing::build_report(recorded.recorded);
}

TEST(fp32_products_finding, says_how_much_of_the_busy_time_they_take_and_what_tf32_saves) {
  const report whole = make_report({});
  const finding* found = testing::find(whole, finding_kind::fp32_products);
  ASSERT_NE(found, nullptr);
  EXPECT_THAT(found->text, HasSubstr("in FP32 without tensor cores for 5.00 ms (50 % of its busy time, 100 kernels)"));
  EXPECT_THAT(found->text, HasSubstr("Most of it is ampere_sgemm_128x64_tn."));
  EXPECT_EQ(found->saves.time, 3'650 * us);
  EXPECT_NEAR(found->saves.share, 0.365, 0.001);
  EXPECT_EQ(found->severity, trace::severity::info) << "the program may need the precision";
  EXPECT_TRUE(found->major);
}

TEST(fp32_products_finding, advises_in_the_words_of_the_framework) {
  const auto advice = [](std::string_view other) {
    const report whole = make_report({.other = other});
    const finding* found = testing::find(whole, finding_kind::fp32_products);
    return found == nullptr ? std::string() : found->advice;
  };
  const std::string torch = advice("void at::native::vectorized_elementwise_kernel<4>(int)");
  EXPECT_THAT(torch, HasSubstr("torch.set_float32_matmul_precision(\"high\")"));
  const std::string cupy = advice("cupy_add__float32_float32_float32");
  EXPECT_THAT(cupy, HasSubstr("CUPY_TF32=1"));
  const std::string plain = advice("saxpy");
  EXPECT_THAT(plain, HasSubstr("cublasSetMathMode(handle, CUBLAS_TF32_TENSOR_OP_MATH)"));
  for (const std::string& each : {cupy, plain}) EXPECT_THAT(each, Not(HasSubstr("torch")));
  for (const std::string& each : {torch, plain}) EXPECT_THAT(each, Not(HasSubstr("CUPY")));
}

TEST(fp32_products_finding, is_only_of_devices_that_have_tf32) {
  EXPECT_NE(testing::find(make_report({.major = 8, .minor = 0}), finding_kind::fp32_products), nullptr);
  EXPECT_EQ(testing::find(make_report({.major = 7, .minor = 5}), finding_kind::fp32_products), nullptr);
  EXPECT_EQ(testing::find(make_report({.major = 0, .minor = 0}), finding_kind::fp32_products), nullptr) << "unknown";
}

TEST(fp32_products_finding, promises_nothing_on_devices_whose_tf32_is_hardly_faster) {
  const report whole = make_report({.major = 8, .minor = 9});
  const finding* found = testing::find(whole, finding_kind::fp32_products);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->saves.basis, saving_basis::none);
  EXPECT_EQ(found->severity, trace::severity::info);
  EXPECT_THAT(found->advice, HasSubstr("at most twice as fast"));
}

TEST(fp32_products_finding, is_none_of_a_few_products) {
  EXPECT_NE(testing::find(make_report({.products = 6}), finding_kind::fp32_products), nullptr);
  EXPECT_EQ(testing::find(make_report({.products = 4}), finding_kind::fp32_products), nullptr);
}

TEST(fp32_products_finding, says_if_the_host_is_what_the_program_waits_for) {
  const report whole = make_report({.host_behind = true});
  const finding* found = testing::find(whole, finding_kind::fp32_products);
  ASSERT_NE(found, nullptr);
  EXPECT_THAT(found->text, HasSubstr("because the GPU waits for the host"));
  EXPECT_LT(found->saves.share, 0.005);
  EXPECT_FALSE(found->major);
  EXPECT_THAT(testing::find(make_report({}), finding_kind::fp32_products)->text, Not(HasSubstr("waits for the host")));
}

}  // namespace
}  // namespace sluice::metrics
