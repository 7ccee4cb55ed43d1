#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <memory>

#include "instrumentation/backend/cuda/open.hpp"
#include "instrumentation/backend/simulated/device.hpp"
#include "tests/instrumentation/backend/other_process.hpp"

// Memory and events in two processes. Each opens its own device.

namespace sluice::backend {
namespace {

constexpr std::uint64_t mib = 1u << 20;
constexpr std::uint64_t bytes = 2 * mib + 4096;

std::shared_ptr<device> open_device(backend_kind kind) {
  if (kind == backend_kind::simulated) return make_simulated_device();
  auto found = open_cuda_devices();
  return found.devices.empty() ? nullptr : found.devices.front();
}

struct handles {
  ipc_memory_handle memory;
  ipc_event_handle filled;
};

/// Has a block and an event; waits until the other says that it has read and written it.
int owner(backend_kind kind, int in, int out) {
  const auto d = open_device(kind);
  if (!d) return no_device;
  const auto block = d->allocate(bytes);
  const auto event = d->create_event({.interprocess = true});
  const auto s = d->create_stream({true, 0});
  if (!block || !event || !s) return 1;
  const auto memory = d->export_memory(*block);
  const auto filled = d->export_event(*event);
  if (!memory || !filled) return 2;
  if (d->import_memory(*memory)) return 3;  // not in the process that made it
  // Filled and recorded, but not waited for: that is the other's part.
  if (!d->set_async(*block, 5, bytes, *s) || !d->record_event(*event, *s)) return 4;
  if (!tell(out, handles{*memory, *filled})) return 5;
  char read_and_written = 0;
  if (!hear(in, read_and_written)) return 6;
  std::array<unsigned char, 2> ends{};
  if (!d->copy_async(ends.data(), *block, 1, stream_handle::null) ||
      !d->copy_async(&ends[1], static_cast<std::byte*>(*block) + bytes - 1, 1, stream_handle::null) ||
      !d->synchronize()) {
    return 7;
  }
  if (ends[0] != 6 || ends[1] != 5) return 8;
  d->destroy_event(*event);
  return d->free(*block) ? 0 : 9;
}

/// Opens the block and the event that it is told of; reads it and writes to it in the event's order.
int user(backend_kind kind, int in, int /*out*/) {
  handles given;
  if (!hear(in, given)) return 1;
  const auto d = open_device(kind);
  if (!d) return no_device;
  const auto block = d->import_memory(given.memory);
  const auto again = d->import_memory(given.memory);
  if (!block || !again || *block != *again) return 2;
  const auto filled = d->import_event(given.filled);
  const auto s = d->create_stream({true, 0});
  if (!filled || !s) return 3;
  std::array<unsigned char, 2> ends{};
  if (!d->wait_event(*s, *filled) || !d->copy_async(ends.data(), *block, 1, *s) ||
      !d->copy_async(&ends[1], static_cast<std::byte*>(*block) + bytes - 1, 1, *s) || !d->set_async(*block, 6, 1, *s) ||
      !d->sync_stream(*s)) {
    return 4;
  }
  if (ends[0] != 5 || ends[1] != 5) return 5;
  const auto done = d->event_done(*filled);
  if (!done || !*done) return 6;
  if (!d->close_memory(*block) || !d->close_memory(*again)) return 7;
  if (kind == backend_kind::simulated && d->close_memory(*block)) return 8;  // once too often
  d->destroy_event(*filled);
  return 0;
}

// Not tests of their own: what the other processes do.
TEST(sharing_roles, DISABLED_owner) { play(owner); }
TEST(sharing_roles, DISABLED_user) { play(user); }

class sharing : public ::testing::TestWithParam<backend_kind> {};
INSTANTIATE_TEST_SUITE_P(each, sharing, ::testing::Values(backend_kind::simulated, backend_kind::cuda),
                         [](const auto& about) {
                           return about.param == backend_kind::simulated ? "simulated" : "cuda";
                         });

TEST_P(sharing, gives_another_process_the_same_bytes_in_the_order_of_an_event) {
  other_process maker("owner", GetParam());
  handles given;
  if (!hear(maker.in, given)) {
    const int status = maker.status();
    if (status == no_device) GTEST_SKIP() << "skipped: no CUDA device";
    FAIL() << "the owner ended early, with " << status;
  }
  other_process reader("user", GetParam());
  ASSERT_TRUE(tell(reader.out, given));
  EXPECT_EQ(reader.status(), 0);
  EXPECT_TRUE(tell(maker.out, 'x'));
  EXPECT_EQ(maker.status(), 0);
}

TEST(simulated_sharing, refuses_handles_that_are_none) {
  simulated_device d({});
  ipc_memory_handle memory;
  ipc_event_handle event;
  EXPECT_EQ(d.import_memory(memory).error().code, status::invalid_value);
  EXPECT_EQ(d.import_event(event).error().code, status::invalid_value);
  std::memset(memory.bytes.data(), 0x5A, memory.bytes.size());
  EXPECT_FALSE(d.import_memory(memory));
  // A sound handle with any one of its bytes changed.
  ipc_memory_handle sound = *d.export_memory(*d.allocate(mib));
  for (std::size_t i = 0; i < 48; ++i) {
    ipc_memory_handle odd = sound;
    odd.bytes[i] = static_cast<std::byte>(static_cast<unsigned>(odd.bytes[i]) ^ 0x41u);
    EXPECT_FALSE(d.import_memory(odd)) << i;
  }
}

TEST(simulated_sharing, shares_whole_blocks_of_its_own_only) {
  simulated_device d({});
  auto* block = static_cast<std::byte*>(*d.allocate(mib));
  EXPECT_TRUE(d.export_memory(block));
  EXPECT_FALSE(d.export_memory(block + 4096));
  EXPECT_FALSE(d.export_memory(*d.allocate_async(mib, stream_handle::null)));
  EXPECT_FALSE(d.export_memory(*d.allocate_pinned(mib, {})));
  int local = 0;
  EXPECT_FALSE(d.export_memory(&local));
  EXPECT_FALSE(d.close_memory(block));
  EXPECT_TRUE(d.free(block));
}

TEST(simulated_sharing, keeps_a_blocks_bytes_when_it_becomes_shared) {
  simulated_device d({});
  auto* block = static_cast<unsigned char*>(*d.allocate(mib));
  ASSERT_TRUE(d.set_async(block, 8, mib, stream_handle::null));
  ASSERT_TRUE(d.synchronize());
  ASSERT_TRUE(d.export_memory(block));
  EXPECT_EQ(block[0], 8);
  EXPECT_EQ(block[mib - 1], 8);
}

}  // namespace
}  // namespace sluice::backend
