#include "instrumentation/runtime/ipc.hpp"

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "instrumentation/runtime/buffer.hpp"
#include "instrumentation/runtime/copy.hpp"
#include "instrumentation/runtime/graph.hpp"
#include "instrumentation/runtime/pool_memory_resource.hpp"
#include "tests/instrumentation/backend/other_process.hpp"
#include "tests/instrumentation/runtime/on_each_device.hpp"

// Memory and an event of the runtime, shared by two processes.

namespace sluice::runtime {
namespace {

using backend::backend_kind;
using backend::hear;
using backend::other_process;
using backend::tell;

constexpr std::size_t words = 10'000;

struct parcel {
  shared_memory_handle numbers;
  ipc_event_handle written;
};

std::optional<device_ref> device_for(backend_kind kind) {
  if (kind == backend_kind::simulated) return simulated_device();
  if (!is_available()) return std::nullopt;
  return devices().front();
}

/// Writes numbers into a block of a pool, and lets the other process double one of them.
int producer(backend_kind kind, int in, int out) {
  const auto device = device_for(kind);
  if (!device) return backend::no_device;
  const device_guard guard(*device);
  const auto pool = std::make_shared<pool_memory_resource>(std::make_shared<device_memory_resource>(),
                                                           pool_options{.ipc_capable = true, .name = "shared"});
  const stream s;
  const device_buffer before(4096, s, pool), numbers(words * 4, s, pool);
  std::vector<std::uint32_t> values(words);
  for (std::uint32_t i = 0; i < words; ++i) values[i] = i * 3;
  ipc_event written;
  copy_async(numbers.data(), values.data(), words * 4, s);
  s.record(written);
  if (!tell(out, parcel{share_memory(numbers.data(), numbers.size_bytes()), written.share()})) return 1;
  char answer = 0;
  if (!hear(in, answer)) return 2;
  copy(values.data(), numbers.data(), words * 4, s);
  return values[9] == 54 && values[10] == 30 ? 0 : 3;
}

/// To wait for the device would break a capture, and the graph's launches use the memory: 0 if neither is harmed.
int let_go_while_captured(imported_memory numbers, const std::vector<std::uint32_t>& values) {
  const stream s;
  const device_buffer copied(numbers.size_bytes(), s);
  std::vector<std::uint32_t> out(values.size());
  try {
    graph_capture capture(s);
    copy_async(copied.data(), numbers.data(), numbers.size_bytes(), s);
    { const imported_memory gone = std::move(numbers); }
    const graph g = capture.finish();
    graph_exec(g).launch(s);
    copy(out.data(), copied.data(), copied.size_bytes(), s);
  } catch (const error&) {
    return 4;
  }
  return out[10] == values[10] ? 0 : 5;
}

int consumer(backend_kind kind, int in, int /*out*/) {
  parcel given;
  if (!hear(in, given)) return 1;
  const auto device = device_for(kind);
  if (!device) return backend::no_device;
  const device_guard guard(*device);
  imported_memory numbers(given.numbers);
  const ipc_event written = ipc_event::open(given.written);
  const stream s;
  s.wait(written);
  std::vector<std::uint32_t> values(numbers.size_bytes() / 4);
  copy(values.data(), numbers.data(), numbers.size_bytes(), s);
  if (values.size() != words || values[9] != 27 || values[words - 1] != (words - 1) * 3) return 2;
  const std::uint32_t doubled = 54;
  copy(numbers.as<std::uint32_t>().data() + 9, &doubled, 4, s);
  try {
    shared_memory_handle beyond = given.numbers;
    beyond.bytes = std::uint64_t{1} << 40;
    const imported_memory never(beyond);
    return 3;
  } catch (const error&) {
  }
  return let_go_while_captured(std::move(numbers), values);
}

TEST(sharing_roles, DISABLED_producer) { backend::play(producer); }
TEST(sharing_roles, DISABLED_consumer) { backend::play(consumer); }

class two_processes : public ::testing::TestWithParam<backend_kind> {};
SLUICE_ON_EACH_DEVICE(two_processes);

TEST_P(two_processes, have_a_block_of_a_pool_and_an_event) {
  other_process maker("producer", GetParam());
  parcel given;
  if (!hear(maker.in, given)) {
    const int status = maker.status();
    if (status == backend::no_device) GTEST_SKIP() << "skipped: no CUDA device";
    FAIL() << "the producer ended early, with " << status;
  }
  EXPECT_NE(given.numbers.offset, 0u) << "not the first block of its segment";
  other_process taker("consumer", GetParam());
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
  if (device().name() == "Fake GPU") GTEST_SKIP() << "the fake driver's other processes are this one";
  const device_buffer a(4096);
  EXPECT_THROW(imported_memory(share_memory(a.data(), 4096)), error);
}

}  // namespace
}  // namespace sluice::runtime
