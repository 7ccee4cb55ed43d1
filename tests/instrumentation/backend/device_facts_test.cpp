#include <cstring>
#include <vector>

#include "instrumentation/backend/host_function_order.hpp"
#include "tests/instrumentation/backend/on_each_backend.hpp"
#include "tests/instrumentation/sizes.hpp"

// What a device reports about streams and addresses; host functions and batches of copies.

namespace sluice::backend {
namespace {

using device_facts = on_each_backend;
SLUICE_ON_EACH_BACKEND(device_facts);

TEST_P(device_facts, streams_have_the_priority_they_were_given) {
  const auto range = got(dev().stream_priorities());
  EXPECT_LE(range.greatest, range.least);
  for (int priority = range.greatest; priority <= range.least; ++priority) {
    const auto s = got(dev().create_stream({true, priority}));
    EXPECT_EQ(got(dev().stream_priority(s)), priority);
    dev().destroy_stream(s);
  }
}

TEST_P(device_facts, a_priority_out_of_range_is_refused_and_not_clamped) {
  const auto range = got(dev().stream_priorities());
  for (const int priority : {range.greatest - 1, range.least + 1}) {
    const auto refused = dev().create_stream({true, priority});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, status::invalid_value);
    EXPECT_NE(describe(refused.error()).find("priority " + std::to_string(priority)), std::string::npos);
  }
}

TEST_P(device_facts, a_stream_is_not_captured_unless_somebody_captures_it) {
  const auto s = got(dev().create_stream({true, 0}));
  EXPECT_EQ(got(dev().stream_capture(s)).status, capture_status::none);
  EXPECT_EQ(got(dev().stream_capture(stream_handle::null)).status, capture_status::none);
  dev().destroy_stream(s);
}

TEST_P(device_facts, pageable_memory_is_known_to_nobody) {
  int local = 0;
  const auto about = got(dev().describe_pointer(&local));
  EXPECT_EQ(about.space, memory_space::pageable);
  EXPECT_EQ(about.device, -1);
  EXPECT_EQ(about.base, nullptr);
  EXPECT_EQ(about.bytes, 0u);
  EXPECT_EQ(about.host_address, &local);
  EXPECT_EQ(about.device_address, nullptr);
}

TEST_P(device_facts, a_device_block_is_known_from_any_address_in_it) {
  for (const bool ordered : {false, true}) {
    auto* block = static_cast<std::byte*>(
        got(ordered ? dev().allocate_async(3 * mib, stream_handle::null) : dev().allocate(3 * mib)));
    done(dev().synchronize());
    const auto about = got(dev().describe_pointer(block + mib));
    EXPECT_EQ(about.space, memory_space::device);
    EXPECT_EQ(about.device, static_cast<int>(dev().description().ordinal));
    EXPECT_EQ(about.base, block);
    EXPECT_EQ(about.bytes, 3 * mib);
    EXPECT_EQ(about.device_address, block + mib);
    EXPECT_EQ(about.host_address, nullptr);
    EXPECT_FALSE(about.managed);
    done(ordered ? dev().free_async(block, stream_handle::null) : dev().free(block));
  }
}

TEST_P(device_facts, managed_memory_has_an_address_on_both_sides) {
  void* block = got(dev().allocate_managed(mib));
  const auto about = got(dev().describe_pointer(block));
  EXPECT_EQ(about.space, memory_space::managed);
  EXPECT_TRUE(about.managed);
  EXPECT_EQ(about.host_address, block);
  EXPECT_EQ(about.device_address, block);
  done(dev().free(block));
}

TEST_P(device_facts, pinned_memory_keeps_the_flags_it_was_made_with) {
  for (const bool mapped : {false, true}) {
    for (const bool write_combined : {false, true}) {
      const pinned_flags flags{true, mapped, write_combined};
      void* block = got(dev().allocate_pinned(mib, flags));
      const auto about = got(dev().describe_pointer(block));
      EXPECT_EQ(about.space, memory_space::pinned);
      EXPECT_EQ(about.host_address, block);
      EXPECT_EQ(about.bytes, mib);
      EXPECT_TRUE(about.flags.portable);
      EXPECT_EQ(about.flags.write_combined, write_combined);
      if (mapped) {
        EXPECT_TRUE(about.flags.mapped);
        EXPECT_TRUE(about.mapped);
        EXPECT_EQ(got(dev().get_device_address(block)), about.device_address);
        EXPECT_NE(about.device_address, nullptr);
      }
      done(dev().free_pinned(block));
    }
  }
}

TEST_P(device_facts, registered_memory_may_be_mapped_too) {
  std::vector<std::byte> own(mib);
  done(dev().register_host(own.data(), own.size(), {.mapped = true}));
  const auto about = got(dev().describe_pointer(own.data() + 17));
  EXPECT_EQ(about.space, memory_space::pinned);
  EXPECT_EQ(about.host_address, own.data() + 17);
  EXPECT_NE(got(dev().get_device_address(own.data())), nullptr);
  done(dev().unregister_host(own.data()));
  EXPECT_EQ(got(dev().describe_pointer(own.data())).space, memory_space::pageable);
  EXPECT_FALSE(dev().get_device_address(own.data()));
}

TEST_P(device_facts, a_host_function_runs_between_the_work_around_it) {
  const auto s = got(dev().create_stream({true, 0}));
  struct seen {
    unsigned char* host;
    int before = -1;
  } about{static_cast<unsigned char*>(got(dev().allocate_pinned(mib, {})))};
  void* there = got(dev().allocate(mib));
  done(dev().set_async(there, 3, mib, s));
  done(dev().copy_async(about.host, there, mib, s));
  done(dev().launch_host(
      [](void* data) {
        auto* state = static_cast<seen*>(data);
        state->before = state->host[mib - 1];
        state->host[0] = 9;
        host_function_ended();
      },
      &about, s));
  done(dev().copy_async(there, about.host, mib, s));
  unsigned char back = 0;
  done(dev().copy_async(&back, there, 1, s));
  done(dev().sync_stream(s));
  EXPECT_EQ(about.before, 3) << "after the copy to the host";
  EXPECT_EQ(back, 9) << "before the copy to the device";
  done(dev().free(there));
  done(dev().free_pinned(about.host));
  dev().destroy_stream(s);
}

TEST_P(device_facts, a_batch_of_copies_does_what_they_do_one_by_one) {
  for (const bool on_default_stream : {false, true}) {
    const auto s = on_default_stream ? stream_handle::null : got(dev().create_stream({true, 0}));
    constexpr std::size_t count = 100, each = 4096;
    auto* in = static_cast<unsigned char*>(got(dev().allocate_pinned(count * each, {})));
    auto* out = static_cast<unsigned char*>(got(dev().allocate_pinned(count * each, {})));
    auto* there = static_cast<unsigned char*>(got(dev().allocate(count * each)));
    for (std::size_t i = 0; i < count * each; ++i) in[i] = static_cast<unsigned char>(i * 7 >> 2);
    std::memset(out, 0, count * each);
    std::vector<copy_piece> up, down;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t to = (i * 37 % count) * each;
      up.push_back({there + to, in + i * each, each});
      down.push_back({out + i * each, there + to, i % 10 == 0 ? 0 : each});
    }
    done(dev().copy_batch_async(up, s));
    done(dev().copy_batch_async(down, s));
    done(dev().copy_batch_async({}, s));
    done(dev().sync_stream(s));
    for (std::size_t i = 0; i < count; ++i) {
      const bool copied = i % 10 != 0;
      ASSERT_EQ(std::memcmp(in + i * each, out + i * each, each) == 0, copied) << i;
    }
    done(dev().free(there));
    done(dev().free_pinned(in));
    done(dev().free_pinned(out));
    dev().destroy_stream(s);
  }
}

TEST_P(device_facts, events_that_processes_share_have_no_time) {
  EXPECT_EQ(dev().create_event({.timed = true, .interprocess = true}).error().code, status::invalid_value);
  const auto plain = got(dev().create_event({}));
  if (simulated()) {
    EXPECT_FALSE(dev().export_event(plain));
  }
  dev().destroy_event(plain);
}

TEST(simulated_facts, unmapped_pinned_memory_has_no_address_on_the_device) {
  simulated_device d({});
  void* block = *d.allocate_pinned(mib, {});
  EXPECT_FALSE(d.describe_pointer(block)->mapped);
  EXPECT_FALSE(d.get_device_address(block));
}

TEST(simulated_facts, a_batch_costs_less_than_its_copies) {
  simulated_device d({});
  void* host = *d.allocate_pinned(mib, {});
  void* there = *d.allocate(mib);
  std::vector<copy_piece> pieces;
  for (std::size_t i = 0; i < 200; ++i) pieces.push_back({static_cast<std::byte*>(there) + i * 64, host, 64});
  const auto time = [&](auto&& work) {
    const auto begin = d.clock()->now();
    work();
    EXPECT_TRUE(d.synchronize());
    return d.clock()->now() - begin;
  };
  const auto batched = time([&] { EXPECT_TRUE(d.copy_batch_async(pieces, stream_handle::null)); });
  const auto single = time([&] {
    for (const auto& p : pieces) EXPECT_TRUE(d.copy_async(p.to, p.from, p.bytes, stream_handle::null));
  });
  EXPECT_LT(batched * 5, single);
}

TEST(simulated_facts, urgent_kernels_do_not_wait_behind_others) {
  simulated_device d({});
  const kernel_definition idle{"idle", [](const launch_config&, const kernel_arguments&) {},
                               [](const launch_config&, const kernel_arguments&) {
                                 kernel_work w;
                                 w.operations = 20'000'000;  // 1 us
                                 return w;
                               }};
  const auto low = *d.create_stream({true, 0}), high = *d.create_stream({true, -5});
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(d.launch(idle, {}, {}, low));
  ASSERT_TRUE(d.launch(idle, {}, {}, high));
  ASSERT_TRUE(d.sync_stream(high));
  EXPECT_FALSE(*d.stream_idle(low));
}

}  // namespace
}  // namespace sluice::backend
