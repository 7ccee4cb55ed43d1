#include "tests/instrumentation/backend/on_each_backend.hpp"
#include "tests/instrumentation/sizes.hpp"

// The driver's own stream-ordered pools.

namespace sluice::backend {
namespace {

constexpr std::uint64_t everything = ~std::uint64_t{0};

class driver_pools : public on_each_backend {
 protected:
  void SetUp() override {
    on_each_backend::SetUp();
    if (!IsSkipped() && !dev().description().features.driver_pools) GTEST_SKIP() << "skipped: this device has no pools";
  }
};
SLUICE_ON_EACH_BACKEND(driver_pools);

TEST_P(driver_pools, count_what_is_used_and_the_most_that_was) {
  const auto pool = got(dev().create_pool({}));
  done(dev().set_release_threshold(pool, everything));
  void* a = got(dev().allocate_from_pool(pool, 3 * mib, stream_handle::null));
  void* b = got(dev().allocate_from_pool(pool, mib, stream_handle::null));
  auto info = got(dev().pool_info(pool));
  EXPECT_GE(info.used_bytes, 4 * mib);
  EXPECT_GE(info.reserved_bytes, info.used_bytes);
  EXPECT_EQ(info.release_threshold, everything);
  done(dev().free_async(a, stream_handle::null));
  done(dev().synchronize());
  info = got(dev().pool_info(pool));
  EXPECT_LT(info.used_bytes, 4 * mib);
  EXPECT_GE(info.used_high, 4 * mib) << "the high stays";
  done(dev().reset_pool_highs(pool));
  EXPECT_EQ(got(dev().pool_info(pool)).used_high, got(dev().pool_info(pool)).used_bytes);
  done(dev().free_async(b, stream_handle::null));
  done(dev().synchronize());
  EXPECT_EQ(got(dev().pool_info(pool)).used_bytes, 0u);
  done(dev().destroy_pool(pool));
}

TEST_P(driver_pools, give_memory_back_when_trimmed) {
  const auto pool = got(dev().create_pool({}));
  done(dev().set_release_threshold(pool, everything));
  void* a = got(dev().allocate_from_pool(pool, 64 * mib, stream_handle::null));
  done(dev().free_async(a, stream_handle::null));
  done(dev().synchronize());
  if (simulated()) {
    EXPECT_EQ(got(dev().pool_info(pool)).reserved_bytes, 64 * mib) << "kept by the threshold";
  }
  done(dev().trim_pool(pool, 0));
  EXPECT_EQ(got(dev().pool_info(pool)).reserved_bytes, 0u);
  done(dev().destroy_pool(pool));
}

TEST_P(driver_pools, keep_nothing_beyond_a_synchronisation_unless_reported_to) {
  const auto pool = got(dev().create_pool({}));
  EXPECT_EQ(got(dev().pool_info(pool)).release_threshold, 0u);
  done(dev().free_async(got(dev().allocate_from_pool(pool, 64 * mib, stream_handle::null)), stream_handle::null));
  done(dev().synchronize());
  EXPECT_EQ(got(dev().pool_info(pool)).reserved_bytes, 0u);
  done(dev().destroy_pool(pool));
}

TEST_P(driver_pools, have_a_default_that_stays) {
  EXPECT_FALSE(dev().destroy_pool(pool_handle::null));
  const auto before = got(dev().pool_info(pool_handle::null)).used_bytes;
  void* a = got(dev().allocate_async(mib, stream_handle::null));
  void* b = got(dev().allocate_from_pool(pool_handle::null, mib, stream_handle::null));
  EXPECT_GE(got(dev().pool_info(pool_handle::null)).used_bytes, before + 2 * mib);
  done(dev().free_async(a, stream_handle::null));
  done(dev().free_async(b, stream_handle::null));
}

TEST_P(driver_pools, refuse_more_than_the_device_has) {
  const auto pool = got(dev().create_pool({}));
  const auto refused = dev().allocate_from_pool(pool, 2 * dev().description().memory_bytes, stream_handle::null);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, status::out_of_memory);
  done(dev().destroy_pool(pool));
}

TEST(simulated_driver_pools, stop_at_their_limit) {
  simulated_device d({});
  const auto pool = *d.create_pool({.max_bytes = 8 * mib});
  void* a = *d.allocate_from_pool(pool, 6 * mib, stream_handle::null);
  const auto refused = d.allocate_from_pool(pool, 4 * mib, stream_handle::null);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, status::out_of_memory);
  EXPECT_NE(describe(refused.error()).find("limited to 8388608"), std::string::npos) << describe(refused.error());
  ASSERT_TRUE(d.free_async(a, stream_handle::null));
  EXPECT_TRUE(d.allocate_from_pool(pool, 4 * mib, stream_handle::null));
}

TEST(simulated_driver_pools, live_until_their_last_block_goes) {
  simulated_device d({});
  const auto pool = *d.create_pool({});
  void* a = *d.allocate_from_pool(pool, mib, stream_handle::null);
  ASSERT_TRUE(d.destroy_pool(pool));
  EXPECT_FALSE(d.pool_info(pool));
  EXPECT_FALSE(d.allocate_from_pool(pool, mib, stream_handle::null));
  ASSERT_TRUE(d.set_async(a, 1, mib, stream_handle::null)) << "still usable";
  ASSERT_TRUE(d.free_async(a, stream_handle::null));
  ASSERT_TRUE(d.synchronize());
  EXPECT_EQ(d.memory()->free_bytes, simulated_device({}).memory()->free_bytes);
  EXPECT_FALSE(d.destroy_pool(pool)) << "twice";
}

}  // namespace
}  // namespace sluice::backend
