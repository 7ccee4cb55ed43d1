#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include "instrumentation/runtime/buffer.hpp"
#include "instrumentation/runtime/copy.hpp"
#include "instrumentation/runtime/kernel.hpp"
#include "tests/instrumentation/runtime/on_each_device.hpp"
#include "tests/instrumentation/sizes.hpp"

namespace sluice::runtime {
namespace {

// The C++ types determine which arguments a kernel accepts.
using backend::kernel_argument;
static_assert(kernel_argument<float*> && kernel_argument<std::uint64_t> && kernel_argument<bool>);
static_assert(!kernel_argument<std::string> && !kernel_argument<std::vector<int>> && !kernel_argument<int[4]>);
static_assert(!kernel_argument<device_buffer> && !kernel_argument<int&>);

using a_device_in_use = on_each_device;
SLUICE_ON_EACH_DEVICE(a_device_in_use);

std::vector<std::uint32_t> random_words(std::size_t count, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::vector<std::uint32_t> out(count);
  std::generate(out.begin(), out.end(), [&] { return static_cast<std::uint32_t>(random()); });
  return out;
}

TEST_P(a_device_in_use, describes_the_device) {
  EXPECT_FALSE(device().name().empty());
  EXPECT_GT(device().memory().total_bytes, 0u);
  EXPECT_LE(device().memory().free_bytes, device().memory().total_bytes);
  EXPECT_EQ(device().simulated(), simulated());
  EXPECT_EQ(current_device(), device());
}

TEST_P(a_device_in_use, restores_the_device_that_a_guard_replaced) {
  const device_ref other(backend::make_simulated_device());
  {
    const device_guard guard(other);
    EXPECT_EQ(current_device(), other);
    std::thread([&] { EXPECT_NE(current_device(), other) << "another thread has its own"; }).join();
  }
  EXPECT_EQ(current_device(), device());
}

TEST_P(a_device_in_use, restores_the_stream_that_a_guard_replaced) {
  const stream s;
  EXPECT_EQ(current_stream(), default_stream());
  {
    const stream_guard guard{stream_ref(s)};
    EXPECT_EQ(current_stream(), stream_ref(s));
  }
  EXPECT_EQ(current_stream(), default_stream());
}

TEST_P(a_device_in_use, copies_pageable_memory_there_and_back) {
  const auto in = random_words(3 * mib / 4 + 17);
  std::vector<std::uint32_t> out(in.size());
  const device_buffer there(in.size() * 4);
  copy(there.data(), in.data(), there.size_bytes());
  copy(out.data(), there.data(), there.size_bytes());
  EXPECT_EQ(in, out);
}

TEST_P(a_device_in_use, copies_pinned_memory_on_two_streams_at_once) {
  const stream up, down;
  const auto in = random_words(mib), back = random_words(mib, 2);
  pinned_buffer a(4 * mib, up), b(4 * mib, down);
  std::memcpy(a.data(), in.data(), a.size_bytes());
  const device_buffer there(4 * mib, up), filled(4 * mib, down);
  copy(filled.data(), back.data(), filled.size_bytes(), down);
  timed_event began, up_done, down_began, down_done;
  const auto copy_up = [&] {
    began.record(up);
    copy_async(there.data(), a.data(), a.size_bytes(), up);
    up_done.record(up);
  };
  const auto copy_down = [&] {
    down_began.record(down);
    copy_async(b.data(), filled.data(), b.size_bytes(), down);
    down_done.record(down);
  };
  copy_up();
  up.sync();
  copy_down();
  down.sync();
  const auto one_by_one = elapsed(began, up_done) + elapsed(down_began, down_done);
  std::memset(b.data(), 0, b.size_bytes());
  copy_up();
  copy_down();
  down.sync();
  up.sync();
  const auto at_once = std::max(elapsed(began, up_done), elapsed(began, down_done));
  if (simulated()) {  // times of a real link are less exact
    EXPECT_LT(at_once.count(), 0.75F * one_by_one.count());
  }
  EXPECT_TRUE(std::equal(back.begin(), back.end(), b.as<std::uint32_t>().begin()));
  copy(b.data(), there.data(), b.size_bytes(), up);
  EXPECT_TRUE(std::equal(in.begin(), in.end(), b.as<std::uint32_t>().begin()));
}

TEST_P(a_device_in_use, copies_within_the_device) {
  const auto in = random_words(mib);
  std::vector<std::uint32_t> out(in.size());
  const device_buffer a(4 * mib), b(4 * mib);
  copy(a.data(), in.data(), 4 * mib);
  copy(b.data(), a.data(), 4 * mib);
  copy(out.data(), b.data(), 4 * mib);
  EXPECT_EQ(in, out);
}

TEST_P(a_device_in_use, sets_bytes) {
  const device_buffer a(mib + 3);
  std::vector<unsigned char> out(a.size_bytes());
  set_async(a.data(), 0xAB, a.size_bytes(), current_stream());
  copy(out.data(), a.data(), out.size());
  EXPECT_TRUE(std::all_of(out.begin(), out.end(), [](auto c) { return c == 0xAB; }));
}

TEST_P(a_device_in_use, refuses_a_span_that_is_too_short) {
  std::vector<int> in(4);
  const device_buffer a(8);
  EXPECT_THROW(copy_async(a.as<int>(), std::span<const int>(in), current_stream()), error);
}

TEST_P(a_device_in_use, runs_kernels_with_the_result_the_host_computes) {
  auto values = random_words(100'003);
  const device_buffer a(values.size() * 4);
  const stream s;
  copy(a.data(), values.data(), a.size_bytes(), s);
  launch(kernels::affine_u32, launch_config::for_size(values.size()), s, a.as<std::uint32_t>().data(),
         std::uint64_t{values.size()}, 1664525u, 1013904223u, 37u);
  std::vector<std::uint32_t> out(values.size());
  copy(out.data(), a.data(), a.size_bytes(), s);
  for (auto& v : values) {
    for (int i = 0; i < 37; ++i) v = v * 1664525u + 1013904223u;
  }
  EXPECT_EQ(values, out);
  EXPECT_EQ(kernels::affine(5, 3, 1, 2), (5u * 3 + 1) * 3 + 1);
}

TEST_P(a_device_in_use, adds_on_the_device) {
  const auto a = random_words(5000), b = random_words(5000, 2);
  const device_buffer x(20000), y(20000), sum(20000);
  copy(x.data(), a.data(), 20000);
  copy(y.data(), b.data(), 20000);
  launch(kernels::add_u32, launch_config::for_size(5000), current_stream(), sum.as<std::uint32_t>().data(),
         static_cast<const std::uint32_t*>(x.data()), static_cast<const std::uint32_t*>(y.data()), std::uint64_t{5000});
  std::vector<std::uint32_t> out(5000);
  copy(out.data(), sum.data(), 20000);
  for (std::size_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], a[i] + b[i]);
}

TEST_P(a_device_in_use, orders_two_streams_by_an_event) {
  const stream first, second;
  const auto in = random_words(4 * mib);
  pinned_buffer host(16 * mib, first), out(16 * mib, second);
  std::memcpy(host.data(), in.data(), host.size_bytes());
  const device_buffer there(16 * mib, first);
  event copied;
  copy_async(there.data(), host.data(), host.size_bytes(), first);
  copied.record(first);
  second.wait(copied);
  copy_async(out.data(), there.data(), out.size_bytes(), second);
  second.sync();
  EXPECT_TRUE(copied.is_done());
  EXPECT_TRUE(std::equal(in.begin(), in.end(), out.as<std::uint32_t>().begin()));
}

TEST_P(a_device_in_use, measures_time_between_timed_events) {
  const stream s;
  timed_event row, to;
  const pinned_buffer host(64 * mib, s);
  const device_buffer there(64 * mib, s);
  row.record(s);
  copy_async(there.data(), host.data(), host.size_bytes(), s);
  to.record(s);
  to.sync();
  EXPECT_GT(elapsed(row, to).count(), 0.1F) << "64 MiB in less than 0.1 ms would be 600 GB/s";
  EXPECT_LT(elapsed(row, to).count(), 1000.0F);
}

TEST_P(a_device_in_use, knows_memory_spaces) {
  int local = 0;
  EXPECT_EQ(device().find_memory_space(&local), memory_space::pageable);
  EXPECT_EQ(device().find_memory_space(device_buffer(64).data()), memory_space::device);
  EXPECT_EQ(device().find_memory_space(pinned_buffer(64).data()), memory_space::pinned);
  EXPECT_EQ(device().find_memory_space(managed_buffer(64).data()), memory_space::managed);
}

TEST_P(a_device_in_use, registers_host_memory_for_a_scope) {
  std::vector<std::uint32_t> in = random_words(mib);
  const device_buffer there(4 * mib);
  {
    const host_registration pin(in.data(), in.size() * 4);
    EXPECT_EQ(device().find_memory_space(in.data()), memory_space::pinned);
    EXPECT_THROW(host_registration(in.data(), in.size() * 4), error) << "twice";
    copy_async(there.data(), in.data(), 4 * mib, current_stream());
  }
  EXPECT_EQ(device().find_memory_space(in.data()), memory_space::pageable);
  std::vector<std::uint32_t> out(in.size());
  copy(out.data(), there.data(), 4 * mib);
  EXPECT_EQ(in, out);
}

TEST_P(a_device_in_use, shares_managed_memory_between_host_and_device) {
  const stream s;
  const managed_buffer m(8 * mib, s);
  auto values = m.host_view<std::uint32_t>();
  std::iota(values.begin(), values.end(), 0u);
  m.prefetch_to_device(s);
  launch(kernels::affine_u32, launch_config::for_size(values.size()), s, values.data(), std::uint64_t{values.size()},
         3u, 1u, 1u);
  m.prefetch_to_host(s, 0, 4 * mib);
  s.sync();
  values = m.host_view<std::uint32_t>();
  for (std::size_t i = 0; i < values.size(); i += 997) ASSERT_EQ(values[i], 3 * i + 1);
  EXPECT_THROW(m.prefetch_to_device(s, 1, 8 * mib), error);
  m.advise(backend::memory_advice::set_read_mostly);
}

TEST_P(a_device_in_use, moves_buffers_and_frees_each_once) {
  device_buffer a(mib);
  void* const address = a.data();
  device_buffer b(std::move(a));
  EXPECT_EQ(b.data(), address);
  EXPECT_TRUE(a.empty());  // NOLINT(bugprone-use-after-move): moved-from buffers are guaranteed to be empty
  device_buffer c;
  c = std::move(b);
  EXPECT_EQ(c.data(), address);
  c.reset();
  EXPECT_EQ(c.data(), nullptr);
  EXPECT_EQ(device_buffer(0).data(), nullptr);
}

TEST_P(a_device_in_use, keeps_a_stream_alive_for_the_memory_that_must_be_freed_on_it) {
  const auto used = [&] { return value_or_throw(device().backend().pool_info(backend::pool_handle::null)).used_bytes; };
  const auto used_before = used();
  async_buffer kept;
  {
    const stream s;
    kept = async_buffer(mib, s);
    set_async(kept.data(), 1, kept.size_bytes(), s);
  }
  EXPECT_EQ(used(), used_before + mib);
  kept.reset();  // on the stream whose owner no longer exists
  device().sync();
  EXPECT_EQ(used(), used_before);
}

TEST_P(a_device_in_use, throws_a_typed_error_when_memory_runs_out) {
  const auto total = device().memory().total_bytes;
  try {
    const device_buffer too_big(total * 2);
    FAIL() << "got it";
  } catch (const out_of_memory& e) {
    EXPECT_EQ(e.requested_bytes(), total * 2);
    EXPECT_EQ(e.code(), status::out_of_memory);
    EXPECT_FALSE(e.from_pool());
    EXPECT_NE(std::string(e.what()).find("out of memory"), std::string::npos);
  }
  EXPECT_NO_THROW(device_buffer{mib}) << "and still works";
}

}  // namespace
}  // namespace sluice::runtime
