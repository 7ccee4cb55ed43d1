#include "instrumentation/runtime/ipc.hpp"

#include <gtest/gtest.h>

#include "instrumentation/runtime/buffer.hpp"
#include "tests/instrumentation/backend/other_process.hpp"
#include "tests/instrumentation/runtime/on_each_device.hpp"
#include "tests/instrumentation/runtime/roles/sharing.hpp"

// Two processes share memory and an event of the runtime.

namespace sluice::runtime {
namespace {

using backend::backend_kind;
using backend::hear;
using backend::other_process;
using backend::tell;

constexpr auto roles = SLUICE_BINARY_DIR "/tests/instrumentation/runtime/sharing_roles_of_runtime";

class two_processes : public ::testing::TestWithParam<backend_kind> {};
SLUICE_ON_EACH_DEVICE(two_processes);

TEST_P(two_processes, have_a_block_of_a_pool_and_an_event) {
  other_process maker(roles, "producer", GetParam());
  parcel given;
  if (!hear(maker.in, given)) {
    const int status = maker.status();
    if (status == backend::no_device) GTEST_SKIP() << "skipped: no CUDA device";
    FAIL() << "the producer ended early, with " << status;
  }
  EXPECT_NE(given.numbers.offset, 0u) << "not the first block of its segment";
  other_process taker(roles, "consumer", GetParam());
  ASSERT_TRUE(tell(taker.out, given));
  EXPECT_EQ(taker.status(), 0);
  EXPECT_TRUE(tell(maker.out, 'x'));
  EXPECT_EQ(maker.status(), 0);
}

using shared_by_one = on_each_device;
SLUICE_ON_EACH_DEVICE(shared_by_one);

TEST_P(shared_by_one, is_device_memory_within_one_block) {
  const device_buffer a(4096);
  int local = 0;
  EXPECT_THROW((void)share_memory(&local, 4), error);
  EXPECT_THROW((void)share_memory(a.data(), 0), error);
  EXPECT_THROW((void)share_memory(a.data(), std::size_t{1} << 40), error);
  EXPECT_NO_THROW((void)share_memory(a.data(), 4096));
}

TEST_P(shared_by_one, opens_in_another_process_only) {
  if (device().name() == "Fake GPU") GTEST_SKIP() << "the fake driver's other processes are this process";
  const device_buffer a(4096);
  EXPECT_THROW(imported_memory(share_memory(a.data(), 4096)), error);
}

}  // namespace
}  // namespace sluice::runtime
