#include "core/metrics/findings/fp32_products/fp32_products.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/core/metrics/findings/fp32_products/product_recording.hpp"

namespace sluice::metrics {
namespace {

using testing::add_product;
using testing::add_wait;
using testing::sgemm;
using testing::us;
using testing::wasteful_recording;

TEST(fp32_products, are_told_by_the_names_of_kernels) {
  for (const std::string_view name :
       {"ampere_sgemm_128x64_tn", "ampere_sgemm_32x32_sliced1x4_nt", "volta_sgemm_64x64_nn", "maxwell_sgemm_128x64_nt",
        "void cutlass::Kernel2<cutlass_80_simt_sgemm_256x128_8x4_nn_align1>(cutlass_80_simt_sgemm_256x128_8x4_nn_"
        "align1::Params)",
        "cutlass3x_sm100_simt_sgemm_f32_f32_f32_f32_f32_128x64x16_1x1x1_3_tnn_align1_bias_f32_relu",
        "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128x8_stage3_warpsize2x2x1_ffma_aligna4_alignc4_execute_"
        "kernel__5x_cublas",
        "void magma_sgemmEx_kernel<float, float, float, true, false, 6, 4, 6, 3, 4>(int, int, int)"})
    EXPECT_TRUE(is_fp32_product(name)) << name;
  for (const std::string_view name :
       {"sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize256x128x32_warpgroupsize2x1x1_execute_segment_k_off_kernel__5x_"
        "cublas",
        "void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_128x256_16x3_tn_align4>(Params)",
        "nvjet_sss_tf32_128x256_TNT", "ampere_bf16_s16816gemm_bf16_128x256_ldg8_f2f_stages_64x3_nn",
        "volta_fp16_sgemm_fp16_128x64_nn",
        "void magma_sgemmEx_kernel<float, __nv_bfloat16, __nv_bfloat16, true, false, 6, 4, 6, 3, 4>(int)",
        "sm80_xmma_gemm_cf32cf32_cf32cf32_cf32_nn_n", "cutlass_80_simt_dgemm_128x64_8x5_nn_align1",
        "void gemmSN_TN_kernel<float, 128, 16, 2, 4, 4, 4, true>(float const*)",
        "sm80_xmma_fprop_implicit_gemm_f32f32_f32f32_f32_nhwckrsc_nhwc_tilesize32x32x8_stage3_ffma",
        "sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nchw_tilesize128x128x16_stage4",
        "void implicit_convolve_sgemm<float, float, 512, 6, 8, 3, 3, 5, 1, true, false, true>(int)",
        "ampere_scudnn_128x64_relu_xregs_large_nn_v1", "my_sgemm_kernel(float*, float*, float*)", "gemm", ""})
    EXPECT_FALSE(is_fp32_product(name)) << name;
}

/// The products of a recording that has those of one process on one device.
fp32_products one(wasteful_recording& recorded) {
  const auto all = recorded.waste().products;
  EXPECT_EQ(all.size(), 1U);
  return all.empty() ? fp32_products{} : all.front();
}

TEST(fp32_products, have_the_sums_of_their_kernels) {
  wasteful_recording recorded;
  add_product(recorded, 0, 10, 110);
  add_product(recorded, 0, 110, 130, "volta_sgemm_64x64_nn");
  add_product(recorded, 0, 200, 300, "elementwise");
  add_product(recorded, 0, 310, 330);
  const fp32_products subject = one(recorded);
  EXPECT_EQ(subject.count, 3U);
  EXPECT_EQ(subject.total, 140 * us);
  EXPECT_EQ(subject.busy, 140 * us);
  EXPECT_EQ(subject.longest_total, 120 * us);
  EXPECT_EQ(subject.first, 10 * us);
  EXPECT_EQ(subject.last, 330 * us);
  EXPECT_EQ(subject.maker, product_maker::unknown);
}

TEST(fp32_products, are_none_in_a_program_without_them) {
  wasteful_recording recorded;
  add_product(recorded, 0, 10, 110, "elementwise");
  EXPECT_TRUE(recorded.waste().products.empty());
}

TEST(fp32_products, beside_others_count_once_in_the_busy_time) {
  wasteful_recording recorded;
  add_product(recorded, 0, 10, 110);
  add_product(recorded, 0, 60, 160);
  const fp32_products subject = one(recorded);
  EXPECT_EQ(subject.total, 200 * us);
  EXPECT_EQ(subject.busy, 150 * us);
}

TEST(fp32_products, know_the_framework_by_its_own_kernels) {
  const auto maker = [](std::string_view kernel) {
    wasteful_recording recorded;
    add_product(recorded, 0, 10, 110);
    add_product(recorded, 0, 120, 130, kernel);
    return one(recorded).maker;
  };
  EXPECT_EQ(maker("void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>(int)"),
            product_maker::pytorch);
  EXPECT_EQ(maker("cupy_add__float32_float32_float32"), product_maker::cupy);
  EXPECT_EQ(maker("saxpy(int, float)"), product_maker::unknown);
}

/// The part of a product's time that TF32 saves.
time_ns less(time_ns length) { return static_cast<time_ns>(static_cast<double>(length) * 0.73); }

TEST(fp32_products, save_all_they_can_while_the_host_is_ahead) {
  wasteful_recording recorded;
  for (time_ns i = 0; i < 100; ++i) add_product(recorded, 1 + i, 200 + i * 100, 300 + i * 100);
  EXPECT_EQ(one(recorded).saved, 100 * less(100 * us));
}

TEST(fp32_products, save_nothing_where_the_device_waits_for_the_host) {
  wasteful_recording recorded;
  for (time_ns i = 0; i < 100; ++i) add_product(recorded, i * 200, i * 200 + 5, i * 200 + 105);
  EXPECT_EQ(one(recorded).saved, less(100 * us)) << "of the last product only";
}

TEST(fp32_products, save_all_they_can_if_the_host_waits_for_each) {
  wasteful_recording recorded;
  for (time_ns i = 0; i < 100; ++i) {
    const time_ns at = 10 + i * 115;
    add_product(recorded, at, at + 5, at + 105);
    add_wait(recorded, at + 6, at + 105);
  }
  EXPECT_EQ(one(recorded).saved, 100 * less(100 * us));
}

TEST(fp32_products, save_no_more_than_the_host_waits) {
  wasteful_recording recorded;
  for (time_ns i = 0; i < 100; ++i) {
    const time_ns at = 10 + i * 115;
    add_product(recorded, at, at + 5, at + 105);
    add_wait(recorded, at + 95, at + 105);  // Before it, the host works for 95 us beside the device.
  }
  EXPECT_EQ(one(recorded).saved, 99 * 10 * us + less(100 * us));
}

/// More products than a launch queue takes, back to back: the host waits for room in it, in no recorded call.
TEST(fp32_products, save_all_they_can_if_the_host_waits_for_room_in_the_queue) {
  wasteful_recording recorded;
  const auto begin = [](time_ns i) { return 5000 + i * 10; };
  for (time_ns i = 0; i < 3000; ++i) {
    const time_ns requested = i < 1024 ? 1 + i : begin(i - 1024) + 1;
    add_product(recorded, requested, begin(i), begin(i + 1));
  }
  EXPECT_EQ(one(recorded).saved, 3000 * less(10 * us));
}

TEST(fp32_products, of_recordings_without_requests_save_all_they_can) {
  wasteful_recording recorded;
  for (time_ns i = 0; i < 10; ++i) recorded.recorded.add_kernel(i * 200 * us, (i * 200 + 100) * us, sgemm);
  EXPECT_EQ(one(recorded).saved, less(1000 * us));
}

/// A random program of products, other kernels and waits of a host that is now ahead, now behind.
void random_program(wasteful_recording& recorded, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t count) { return static_cast<time_ns>(random() % count); };
  time_ns host = 1, device = 10;
  for (int i = 0; i < 300; ++i) {
    host += 1 + below(40);
    const time_ns begin = std::max(device + below(3), host + 5), end = begin + 1 + below(60);
    add_product(recorded, host, begin, end, below(2) == 0 ? sgemm : "elementwise");
    device = end;
    if (below(10) > 0 || device <= host + 1) continue;
    add_wait(recorded, host + 1, device);
    host = device;
  }
}

TEST(fp32_products, are_the_same_section_by_section) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    wasteful_recording recorded;
    random_program(recorded, seed);
    recorded.recorded.close();
    const testing::indexed loaded(recorded.recorded.open());
    const time_range whole = index::recorded_range(*loaded.snapshot);
    const metrics_scope scope{loaded.snapshot.get(), whole};
    fp32_products_builder at_once(scope), in_parts(scope);
    at_once.add(loaded.index, whole);
    const time_ns part = whole.length() / 7 + 1;
    for (time_ns begin = whole.begin; begin < whole.end; begin += part)
      in_parts.add(loaded.index, {begin, std::min(begin + part, whole.end)});
    ASSERT_EQ(at_once.metrics().size(), 1U);
    ASSERT_EQ(in_parts.metrics().size(), 1U);
    const fp32_products expected = at_once.metrics().front(), subject = in_parts.metrics().front();
    EXPECT_EQ(subject.saved, expected.saved);
    EXPECT_EQ(subject.busy, expected.busy);
    EXPECT_EQ(subject.count, expected.count);
    EXPECT_EQ(subject.last, expected.last);
    EXPECT_GT(expected.saved, 0);
    EXPECT_LE(expected.saved, less(expected.busy));
  }
}

}  // namespace
}  // namespace sluice::metrics
