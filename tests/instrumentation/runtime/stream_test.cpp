#include "instrumentation/runtime/stream.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <stdexcept>
#include <thread>
#include <type_traits>
#include <vector>

#include "instrumentation/runtime/buffer.hpp"
#include "instrumentation/runtime/copy.hpp"
#include "instrumentation/runtime/kernel.hpp"
#include "tests/instrumentation/runtime/on_each_device.hpp"
#include "tests/instrumentation/sizes.hpp"

// Devices, streams and events, rule by rule.

namespace sluice::runtime {
namespace {

using streams = on_each_device;
SLUICE_ON_EACH_DEVICE(streams);

TEST_P(streams, set_device_lasts_where_a_guard_restores) {
  const device_ref other(backend::make_simulated_device());
  std::thread([&] {
    set_device(device());
    {
      const device_guard guard(other);
      EXPECT_EQ(current_device(), other);
    }
    EXPECT_EQ(current_device(), device()) << "a guard restores";
    set_device(other);
    EXPECT_EQ(current_device(), other) << "set_device does not";
  }).join();
}

TEST_P(streams, devices_are_numbered_and_can_be_waited_for) {
  if (simulated()) {
    EXPECT_EQ(device().id(), -1) << "constructed directly";
  } else {
    EXPECT_EQ(devices()[static_cast<std::size_t>(device().id())], device());
  }
  const stream s;
  const device_buffer a(16 * mib, s);
  for (int i = 0; i < 20; ++i) set_async(a.data(), 1, a.size_bytes(), s);
  device().sync();
  EXPECT_TRUE(s.is_idle());
}

TEST_P(streams, versions_are_three) {
  EXPECT_EQ(is_available(), why_unavailable().empty());
  EXPECT_EQ(is_available(), driver_version() != 0);
  if (!simulated()) {
    EXPECT_GE(driver_version(), 11000);
  }
  EXPECT_EQ(runtime_version(), 0) << "nothing in this program loads libcudart";
  EXPECT_TRUE(built_version() == 0 || built_version() >= 12000);
}

TEST_P(streams, have_the_priority_they_ask_for_or_none) {
  const priority_range range = stream_priorities(device());
  const stream urgent(stream_mode::non_blocking, range.greatest), idle(stream_mode::non_blocking, range.least);
  EXPECT_EQ(urgent.priority(), range.greatest);
  EXPECT_EQ(idle.priority(), range.least);
  try {
    const stream never(stream_mode::non_blocking, range.greatest - 1);
    FAIL() << "the driver clamps; we do not";
  } catch (const error& e) {
    EXPECT_EQ(e.code(), status::invalid_value);
    EXPECT_NE(std::string(e.what()).find("most urgent"), std::string::npos) << e.what();
  }
}

TEST_P(streams, record_wait_and_are_named_by_a_handle) {
  const stream s, t;
  EXPECT_NE(s.get(), t.get());
  EXPECT_EQ(default_stream().get(), 0u);
  event e;
  EXPECT_TRUE(e.is_done()) << "never recorded";
  EXPECT_NE(e.get(), 0u);
  const device_buffer a(mib, s);
  set_async(a.data(), 1, mib, s);
  e.record(s);
  t.wait(e);
  t.sync();
  EXPECT_TRUE(e.is_done());
  e.sync();
}

TEST_P(streams, wrap_native_handles_without_owning_them) {
  const stream owner;
  {
    const stream_ref wrapped = stream_ref::from_native(device(), owner.get());
    EXPECT_EQ(wrapped, stream_ref(owner));
    const device_buffer a(mib, wrapped);
    set_async(a.data(), 1, mib, wrapped);
    wrapped.sync();
  }
  EXPECT_NO_THROW(owner.sync()) << "still there";
  EXPECT_EQ(stream_ref::from_native(device(), 0), stream_ref(device()));
  if (!simulated()) {
    EXPECT_EQ(stream_ref::from_native(device(), 1), stream_ref(device())) << "CU_STREAM_LEGACY";
  }
}

TEST_P(streams, tell_the_drivers_per_thread_stream_apart_by_thread) {
  if (simulated()) GTEST_SKIP() << "only CUDA has this handle";
  const stream_ref s = stream_ref::from_native(device(), 2);
  const std::uint64_t here = s.identity();
  std::uint64_t there = 0;
  std::thread([&] { there = s.identity(); }).join();
  EXPECT_NE(here, there);
  EXPECT_EQ(here, s.identity());
  const device_buffer a(mib, s);
  set_async(a.data(), 1, mib, s);
  s.sync();
}

TEST_P(streams, are_one_a_thread_where_asked) {
  const stream_ref mine = per_thread_stream(device());
  EXPECT_EQ(mine, per_thread_stream(device()));
  EXPECT_NE(mine, default_stream());
  std::set<std::uintptr_t> handles{mine.get()};
  std::vector<stream_ref> alive;  // so that no handle is reused
  std::mutex mutex;
  device_buffer outlives;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      const stream_ref s = per_thread_stream(device());
      device_buffer a(mib, s);
      set_async(a.data(), 1, mib, s);
      s.sync();
      const std::lock_guard lock(mutex);
      alive.push_back(s);
      EXPECT_TRUE(handles.insert(s.get()).second) << "another thread has it";
      if (i == 0) outlives = std::move(a);
    });
  }
  for (auto& t : threads) t.join();
  outlives.reset();  // on the stream of a thread that has ended
}

TEST_P(streams, guards_nest_and_go_by_device) {
  const stream a, b;
  const device_ref other(backend::make_simulated_device());
  EXPECT_EQ(current_stream(), default_stream());
  {
    const stream_guard outer{stream_ref(a)};
    {
      const stream_guard inner{stream_ref(b)};
      EXPECT_EQ(current_stream(), stream_ref(b));
      const device_guard elsewhere(other);
      EXPECT_EQ(current_stream(), stream_ref(other)) << "another device has its own";
    }
    EXPECT_EQ(current_stream(), stream_ref(a));
    std::thread([&] {
      set_device(device());
      EXPECT_EQ(current_stream(), stream_ref(device())) << "and another thread";
    }).join();
  }
  EXPECT_EQ(current_stream(), default_stream());
}

TEST_P(streams, call_host_functions_in_order) {
  const stream s;
  std::vector<int> seen;
  const device_buffer a(mib, s);
  for (int i = 0; i < 10; ++i) {
    set_async(a.data(), static_cast<std::uint8_t>(i), mib, s);
    launch_host_func(s, [&seen, i] { seen.push_back(i); });
  }
  s.sync();
  EXPECT_EQ(seen, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

TEST_P(streams, let_go_of_host_functions_once_they_have_run) {
  const stream s;
  auto owned = std::make_shared<int>(0);
  const std::weak_ptr<int> watched = owned;
  launch_host_func(s, [owned = std::move(owned)] { ++*owned; });
  s.sync();
  EXPECT_TRUE(watched.expired());
}

TEST_P(streams, copy_many_pieces_at_once) {
  const stream s;
  const pinned_buffer in(mib, s), out(mib, s);
  const device_buffer there(mib, s);
  std::vector<copy_piece> up, down;
  for (std::size_t i = 0; i < 256; ++i) {
    for (std::size_t j = 0; j < 4096; ++j) in.as<std::uint8_t>()[i * 4096 + j] = static_cast<std::uint8_t>(i + j);
    auto* part = static_cast<std::byte*>(there.data()) + (255 - i) * 4096;
    up.push_back({part, static_cast<std::byte*>(in.data()) + i * 4096, 4096});
    down.push_back({static_cast<std::byte*>(out.data()) + i * 4096, part, 4096});
  }
  copy_batch_async(up, s);
  copy_batch_async(down, s);
  s.sync();
  EXPECT_TRUE(std::equal(in.as<std::uint8_t>().begin(), in.as<std::uint8_t>().end(), out.as<std::uint8_t>().begin()));
}

TEST_P(streams, give_time_to_timed_events_only) {
  // Checked by type: events that processes share have no time.
  static_assert(!std::is_base_of_v<timed_event, ipc_event> && !std::is_convertible_v<ipc_event&, timed_event&>);
  const stream s;
  timed_event row(device(), event_wait::sleep), to;
  const device_buffer a(64 * mib, s);
  row.record(s);
  set_async(a.data(), 1, a.size_bytes(), s);
  to.record(s);
  to.sync();
  EXPECT_GE(elapsed(row, to).count(), 0.0F);
  ipc_event shared;
  shared.record(s);
  shared.sync();
  EXPECT_TRUE(shared.is_done());
}

TEST_P(streams, a_host_function_that_throws_ends_the_program) {
  if (!simulated()) GTEST_SKIP() << "there it runs on a driver thread";
  const stream s;
  EXPECT_DEATH(
      {
        launch_host_func(s, [] { throw std::runtime_error("nobody is there to catch it"); });
        try {
          s.sync();
        } catch (const std::exception&) {
          // This must not be reached.
        }
      },
      "");
}

}  // namespace
}  // namespace sluice::runtime
