#include <gtest/gtest.h>

#include <cstring>

#include "instrumentation/backend/simulated/device/device.hpp"
#include "tests/instrumentation/backend/other_process.hpp"
#include "tests/instrumentation/backend/roles/sharing.hpp"
#include "tests/instrumentation/sizes.hpp"

// Two processes share memory and events; each opens the device for itself.

namespace sluice::backend {
namespace {

constexpr auto roles = SLUICE_BINARY_DIR "/tests/instrumentation/backend/sharing_roles";

class sharing : public ::testing::TestWithParam<backend_kind> {};
INSTANTIATE_TEST_SUITE_P(each, sharing, ::testing::Values(backend_kind::simulated, backend_kind::cuda),
                         [](const auto& about) {
                           return about.param == backend_kind::simulated ? "simulated" : "cuda";
                         });

TEST_P(sharing, gives_another_process_the_same_bytes_in_the_order_of_an_event) {
  other_process maker(roles, "owner", GetParam());
  handles given;
  if (!hear(maker.in, given)) {
    const int status = maker.status();
    if (status == no_device) GTEST_SKIP() << "skipped: no CUDA device";
    FAIL() << "the owner ended early, with " << status;
  }
  other_process reader(roles, "user", GetParam());
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
  // A valid handle in which any single byte is changed must be refused.
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
