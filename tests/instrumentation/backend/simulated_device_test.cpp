#include "instrumentation/backend/simulated/device/device.hpp"
#include "tests/instrumentation/sizes.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace sluice::backend {
namespace {

// The time in ns that `bytes` take in one direction of the link, at the cost model's 55.5 GB/s.
std::int64_t link_time(std::uint64_t bytes) {
  return simulated::cost_model::duration(bytes, simulated::cost_model{}.pinned_h2d);
}

void fill(const launch_config&, const kernel_arguments& a) {
  std::memset(a.get<void*>(0), a.get<int>(2), a.get<std::uint64_t>(1));
}
kernel_work work_of_fill(const launch_config&, const kernel_arguments& a) {
  kernel_work w;
  w.touch(a.get<void*>(0), a.get<std::uint64_t>(1), true);
  return w;
}
const kernel_definition fill_kernel{"fill", fill, work_of_fill};

class simulated : public ::testing::Test {
 protected:
  void* take(device_result<void*> result) {
    EXPECT_TRUE(result) << describe(result.error());
    return result ? *result : nullptr;
  }
  [[nodiscard]] std::int64_t now() { return device.clock()->now(); }

  simulated_device device{{}};
};

TEST_F(simulated, calls_itself_simulated) {
  EXPECT_EQ(device.description().kind, backend_kind::simulated);
  EXPECT_NE(device.description().name.find("Simulated"), std::string::npos);
  EXPECT_EQ(device.description().memory_bytes, 141'000'000'000u);
  EXPECT_NEAR(device.description().link_peak, 63.0e9, 0.1e9);
}

TEST_F(simulated, moves_the_bytes_there_and_back) {
  auto* in = static_cast<unsigned char*>(take(device.allocate_pinned(mib, {})));
  auto* out = static_cast<unsigned char*>(take(device.allocate_pinned(mib, {})));
  void* there = take(device.allocate(mib));
  for (std::size_t i = 0; i < mib; ++i) in[i] = static_cast<unsigned char>(i * 7);
  ASSERT_TRUE(device.copy_async(there, in, mib, stream_handle::null));
  ASSERT_TRUE(device.copy_async(out, there, mib, stream_handle::null));
  ASSERT_TRUE(device.synchronize());
  EXPECT_EQ(std::memcmp(in, out, mib), 0);
}

TEST_F(simulated, moves_them_no_sooner_than_its_clock_says) {
  auto* in = static_cast<unsigned char*>(take(device.allocate_pinned(16 * mib, {})));
  auto* there = static_cast<unsigned char*>(take(device.allocate(16 * mib)));
  in[0] = 42;
  ASSERT_TRUE(device.copy_async(there, in, 16 * mib, stream_handle::null));
  EXPECT_EQ(there[0], 0) << "the copy is still under way: a program that does not wait reads old bytes";
  ASSERT_TRUE(device.sync_stream(stream_handle::null));
  EXPECT_EQ(there[0], 42);
}

TEST_F(simulated, takes_the_time_the_link_takes) {
  void* in = take(device.allocate_pinned(64 * mib, {}));
  void* there = take(device.allocate(64 * mib));
  const auto begin = now();
  ASSERT_TRUE(device.copy_async(there, in, 64 * mib, stream_handle::null));
  ASSERT_TRUE(device.synchronize());
  EXPECT_GE(now() - begin, link_time(64 * mib));
  EXPECT_LE(now() - begin, link_time(64 * mib) + 10'000);
}

TEST_F(simulated, holds_the_host_up_for_pageable_memory_only) {
  std::vector<char> pageable(16 * mib);
  void* pinned = take(device.allocate_pinned(16 * mib, {}));
  void* there = take(device.allocate(16 * mib));
  auto begin = now();
  ASSERT_TRUE(device.copy_async(there, pinned, 16 * mib, stream_handle::null));
  EXPECT_LT(now() - begin, 10'000);
  ASSERT_TRUE(device.synchronize());
  begin = now();
  ASSERT_TRUE(device.copy_async(there, pageable.data(), 16 * mib, stream_handle::null));
  EXPECT_GT(now() - begin, 2 * link_time(16 * mib));
}

TEST_F(simulated, overlaps_the_two_directions_and_a_kernel) {
  void* host = take(device.allocate_pinned(64 * mib, {}));
  void* back = take(device.allocate_pinned(64 * mib, {}));
  void* a = take(device.allocate(64 * mib));
  void* b = take(device.allocate(64 * mib));
  const auto s = *device.create_stream({true, 0}), t = *device.create_stream({true, 0});
  const auto begin = now();
  ASSERT_TRUE(device.copy_async(a, host, 64 * mib, s));
  ASSERT_TRUE(device.copy_async(back, b, 64 * mib, t));
  ASSERT_TRUE(device.synchronize());
  EXPECT_LT(now() - begin, link_time(64 * mib) * 11 / 10) << "full duplex";
}

TEST_F(simulated, does_not_overlap_two_copies_of_one_direction) {
  void* host = take(device.allocate_pinned(64 * mib, {}));
  void* a = take(device.allocate(64 * mib));
  void* b = take(device.allocate(64 * mib));
  const auto s = *device.create_stream({true, 0}), t = *device.create_stream({true, 0});
  const auto begin = now();
  ASSERT_TRUE(device.copy_async(a, host, 64 * mib, s));
  ASSERT_TRUE(device.copy_async(b, host, 64 * mib, t));
  ASSERT_TRUE(device.synchronize());
  EXPECT_GE(now() - begin, 2 * link_time(64 * mib));
}

TEST_F(simulated, makes_the_default_stream_wait_for_blocking_streams) {
  void* host = take(device.allocate_pinned(64 * mib, {}));
  void* a = take(device.allocate(64 * mib));
  const auto blocking = *device.create_stream({false, 0}), free = *device.create_stream({true, 0});
  ASSERT_TRUE(device.copy_async(a, host, 64 * mib, blocking));
  EXPECT_FALSE(*device.stream_idle(stream_handle::null));
  EXPECT_TRUE(*device.stream_idle(free));
  ASSERT_TRUE(device.sync_stream(stream_handle::null));
  EXPECT_TRUE(*device.stream_idle(blocking));
}

TEST_F(simulated, orders_streams_by_events) {
  void* host = take(device.allocate_pinned(16 * mib, {}));
  auto* a = static_cast<unsigned char*>(take(device.allocate(16 * mib)));
  auto* out = static_cast<unsigned char*>(take(device.allocate_pinned(16 * mib, {})));
  const auto s = *device.create_stream({true, 0}), t = *device.create_stream({true, 0});
  const auto done = *device.create_event({.timed = true});
  EXPECT_TRUE(*device.event_done(done)) << "never recorded";
  std::memset(host, 3, 16 * mib);
  ASSERT_TRUE(device.copy_async(a, host, 16 * mib, s));
  ASSERT_TRUE(device.record_event(done, s));
  EXPECT_FALSE(*device.event_done(done));
  ASSERT_TRUE(device.wait_event(t, done));
  ASSERT_TRUE(device.copy_async(out, a, 16 * mib, t));
  ASSERT_TRUE(device.sync_stream(t));
  EXPECT_EQ(out[16 * mib - 1], 3);
  EXPECT_TRUE(*device.event_done(done));
}

TEST_F(simulated, measures_device_time_between_events) {
  void* a = take(device.allocate(64 * mib));
  void* host = take(device.allocate_pinned(64 * mib, {}));
  const auto event = *device.create_event({.timed = true}), to = *device.create_event({.timed = true}),
             untimed = *device.create_event({});
  ASSERT_TRUE(device.record_event(event, stream_handle::null));
  ASSERT_TRUE(device.copy_async(a, host, 64 * mib, stream_handle::null));
  ASSERT_TRUE(device.record_event(to, stream_handle::null));
  EXPECT_FALSE(device.elapsed_ms(event, to)) << "not done yet";
  ASSERT_TRUE(device.synchronize());
  EXPECT_NEAR(*device.elapsed_ms(event, to), static_cast<double>(link_time(64 * mib)) / 1e6, 0.02);
  EXPECT_FALSE(device.elapsed_ms(event, untimed));
}

TEST_F(simulated, runs_kernels_on_the_bytes) {
  auto* a = static_cast<unsigned char*>(take(device.allocate(mib)));
  ASSERT_TRUE(device.launch(fill_kernel, launch_config::for_size(mib), kernel_arguments::of(a, std::uint64_t{mib}, 9),
                            stream_handle::null));
  ASSERT_TRUE(device.synchronize());
  EXPECT_EQ(a[0], 9);
  EXPECT_EQ(a[mib - 1], 9);
}

TEST_F(simulated, refuses_a_kernel_that_reaches_outside_live_memory) {
  void* a = take(device.allocate(mib));
  const auto result = device.launch(fill_kernel, launch_config::for_size(mib),
                                    kernel_arguments::of(a, std::uint64_t{mib} + 1, 9), stream_handle::null);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().native, 700);
  EXPECT_NE(describe(result.error()).find("illegal address"), std::string::npos);
}

TEST_F(simulated, refuses_copies_that_leave_their_block) {
  void* a = take(device.allocate(mib));
  std::vector<char> host(2 * mib);
  EXPECT_FALSE(device.copy_async(a, host.data(), mib + 1, stream_handle::null));
  EXPECT_FALSE(device.copy_async(nullptr, host.data(), 1, stream_handle::null));
  ASSERT_TRUE(device.free(a));
  EXPECT_FALSE(device.copy_async(a, host.data(), 1, stream_handle::null)) << "freed";
  EXPECT_FALSE(device.free(a)) << "twice";
}

TEST_F(simulated, reports_work_on_memory_that_was_freed_under_it) {
  const auto s = *device.create_stream({true, 0}), t = *device.create_stream({true, 0});
  void* host = take(device.allocate_pinned(64 * mib, {}));
  void* a = take(device.allocate_async(64 * mib, s));
  ASSERT_TRUE(device.copy_async(a, host, 64 * mib, s));
  ASSERT_TRUE(device.free_async(a, t)) << "on a stream that does not wait for the copy";
  ASSERT_TRUE(device.sync_stream(t));
  const auto result = device.sync_stream(s);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().native, 700);
}

TEST(simulated_capacity, is_what_was_configured) {
  simulated_config config;
  config.memory_bytes = 1024 * mib;
  simulated_device device(config);
  const auto before = *device.memory();
  EXPECT_EQ(before.total_bytes, 1024 * mib);
  EXPECT_EQ(before.free_bytes, 512 * mib) << "the context uses part of the memory";
  const auto big = device.allocate(512 * mib);
  ASSERT_TRUE(big);
  EXPECT_EQ(device.memory()->free_bytes, 0u);
  const auto refused = device.allocate(1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, status::out_of_memory);
  EXPECT_FALSE(device.allocate_async(1, stream_handle::null));
  ASSERT_TRUE(device.free(*big));
  EXPECT_EQ(device.memory()->free_bytes, 512 * mib) << "and it recovers";
  EXPECT_TRUE(device.allocate(1));
}

TEST_F(simulated, refuses_sizes_that_make_no_sense) {
  EXPECT_EQ(device.allocate(0).error().code, status::invalid_value);
  EXPECT_EQ(device.allocate(~std::uint64_t{0}).error().code, status::out_of_memory);
  EXPECT_EQ(device.allocate_async(~std::uint64_t{0} - 4096, stream_handle::null).error().code, status::out_of_memory);
  EXPECT_FALSE(device.allocate_pinned(~std::uint64_t{0}, {}));
}

TEST_F(simulated, keeps_the_driver_pool_until_a_synchronisation) {
  const auto s = *device.create_stream({true, 0});
  void* a = take(device.allocate_async(mib, s));
  EXPECT_EQ(device.pool_info(pool_handle::null)->used_bytes, mib);
  EXPECT_EQ(device.pool_info(pool_handle::null)->reserved_bytes, 32 * mib);
  ASSERT_TRUE(device.free_async(a, s));
  EXPECT_EQ(device.pool_info(pool_handle::null)->reserved_bytes, 32 * mib);
  EXPECT_EQ(take(device.allocate_async(mib, s)), a) << "reused on the same stream at once";
  ASSERT_TRUE(device.free_async(a, s));
  ASSERT_TRUE(device.sync_stream(s));
  EXPECT_EQ(device.pool_info(pool_handle::null)->reserved_bytes, 0u);
  EXPECT_FALSE(device.free_async(a, s)) << "gone";
}

TEST_F(simulated, gives_nobody_else_what_the_default_stream_frees_before_the_work_it_waits_for) {
  const auto blocking = *device.create_stream({false, 0});
  const auto other = *device.create_stream({true, 0});
  void* source = take(device.allocate_pinned(32 * mib, {}));
  void* a = take(device.allocate_async(32 * mib, stream_handle::null));
  ASSERT_TRUE(device.sync_stream(stream_handle::null));
  ASSERT_TRUE(device.copy_async(a, source, 32 * mib, blocking));
  ASSERT_TRUE(device.free_async(a, stream_handle::null));
  void* b = take(device.allocate_async(32 * mib, other));
  EXPECT_NE(a, b) << "the copy still writes to it";
  ASSERT_TRUE(device.free_async(b, other));
  ASSERT_TRUE(device.sync_stream(other));
  EXPECT_EQ(device.pool_info(pool_handle::null)->reserved_bytes, 32 * mib) << "nor is it released";
  ASSERT_TRUE(device.sync_stream(stream_handle::null));
  EXPECT_EQ(device.pool_info(pool_handle::null)->reserved_bytes, 0u);
}

TEST_F(simulated, registers_no_byte_twice) {
  std::vector<char> own(4 * mib);
  ASSERT_TRUE(device.register_host(own.data() + mib, mib, {}));
  EXPECT_FALSE(device.register_host(own.data(), mib + 1, {})) << "its end";
  EXPECT_FALSE(device.register_host(own.data() + 2 * mib - 1, mib, {})) << "its beginning";
  EXPECT_FALSE(device.register_host(own.data(), own.size(), {})) << "it encloses a registered range";
  EXPECT_TRUE(device.register_host(own.data(), mib, {})) << "beside it";
  EXPECT_TRUE(device.register_host(own.data() + 2 * mib, mib, {}));
}

TEST_F(simulated, knows_where_an_address_lives) {
  char local = 0;
  std::vector<char> own(mib);
  EXPECT_EQ(device.get_space(&local), memory_space::pageable);
  EXPECT_EQ(device.get_space(take(device.allocate(1))), memory_space::device);
  EXPECT_EQ(device.get_space(take(device.allocate_pinned(1, {}))), memory_space::pinned);
  EXPECT_EQ(device.get_space(take(device.allocate_managed(1))), memory_space::managed);
  ASSERT_TRUE(device.register_host(own.data(), own.size(), {}));
  EXPECT_EQ(device.get_space(own.data() + mib - 1), memory_space::pinned);
  EXPECT_FALSE(device.register_host(own.data(), own.size(), {})) << "twice";
  ASSERT_TRUE(device.unregister_host(own.data()));
  EXPECT_EQ(device.get_space(own.data()), memory_space::pageable);
}

TEST_F(simulated, brings_managed_pages_to_whoever_touches_them) {
  auto* m = static_cast<unsigned char*>(take(device.allocate_managed(16 * mib)));
  const auto free_before = device.memory()->free_bytes;
  device.touch_on_host(m, 16 * mib);
  std::memset(m, 1, 16 * mib);
  auto begin = now();
  ASSERT_TRUE(device.launch(fill_kernel, launch_config::for_size(mib),
                            kernel_arguments::of(m, std::uint64_t{16} * mib, 5), stream_handle::null));
  ASSERT_TRUE(device.synchronize());
  const auto faulting = now() - begin;
  EXPECT_EQ(free_before - device.memory()->free_bytes, 16 * mib);
  begin = now();
  ASSERT_TRUE(device.launch(fill_kernel, launch_config::for_size(mib),
                            kernel_arguments::of(m, std::uint64_t{16} * mib, 6), stream_handle::null));
  ASSERT_TRUE(device.synchronize());
  EXPECT_LT(now() - begin, faulting / 10) << "already there";
  begin = now();
  device.touch_on_host(m, 16 * mib);
  EXPECT_GT(now() - begin, link_time(16 * mib));
  EXPECT_EQ(m[16 * mib - 1], 6);
  EXPECT_EQ(device.memory()->free_bytes, free_before);
}

TEST_F(simulated, prefetches_faster_than_it_faults) {
  void* m = take(device.allocate_managed(64 * mib));
  device.touch_on_host(m, 64 * mib);
  auto begin = now();
  ASSERT_TRUE(device.prefetch(m, 64 * mib, {false}, stream_handle::null));
  ASSERT_TRUE(device.synchronize());
  const auto prefetching = now() - begin;
  device.touch_on_host(m, 64 * mib);
  begin = now();
  ASSERT_TRUE(device.set_async(m, 0, 64 * mib, stream_handle::null));
  ASSERT_TRUE(device.synchronize());
  EXPECT_LT(prefetching * 2, now() - begin);
  EXPECT_FALSE(device.prefetch(m, 64 * mib + 1, {false}, stream_handle::null));
}

TEST_F(simulated, tells_the_same_times_and_addresses_in_every_run) {
  const auto run = [] {
    simulated_device d({});
    std::vector<std::uint64_t> said;
    const auto s = *d.create_stream({true, 0}), t = *d.create_stream({true, 0});
    void* host = *d.allocate_pinned(mib, {});
    for (int i = 0; i < 50; ++i) {
      void* a = *d.allocate_async(static_cast<std::uint64_t>(1000 + i * 777), i % 2 ? s : t);
      (void)d.copy_async(a, host, 1000, i % 2 ? s : t);
      said.push_back(d.trace_address(a));
      said.push_back(static_cast<std::uint64_t>(d.clock()->now()));
      (void)d.free_async(a, i % 2 ? s : t);
      if (i % 7 == 0) (void)d.synchronize();
    }
    (void)d.synchronize();
    said.push_back(static_cast<std::uint64_t>(d.clock()->now()));
    return said;
  };
  EXPECT_EQ(run(), run());
}

}  // namespace
}  // namespace sluice::backend
