#include <gmock/gmock.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "core/trace/file/reader.hpp"
#include "instrumentation/backend/simulated/device/device.hpp"
#include "instrumentation/ring/producer_losses.hpp"
#include "instrumentation/runtime/buffer.hpp"
#include "instrumentation/runtime/pool_memory_resource.hpp"
#include "instrumentation/runtime/recording.hpp"
#include "tests/instrumentation/runtime/on_each_device.hpp"
#include "tests/instrumentation/sizes.hpp"

// A ring that is too small loses events of a pool's blocks; later live sets repair the recording.

namespace sluice::runtime {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t gone_bytes = 1000, kept_bytes = 2000, hit_bytes = 3000;

class lost_events : public on_each_device {
 protected:
  void SetUp() override {
    on_each_device::SetUp();
    setenv("SLUICE_RING_BYTES", "16384", 1);
    path_ = fs::temp_directory_path() / ("sluice_lost_events_" + std::to_string(getpid()) + ".sluice");
  }
  void TearDown() override {
    unsetenv("SLUICE_RING_BYTES");
    on_each_device::TearDown();
    fs::remove(path_);
  }

  /// The number of blocks of each size that are live in a layer at the last checkpoint.
  [[nodiscard]] std::map<std::uint64_t, int> live_at_end(trace::layer layer) const {
    auto file = trace::file::open(path_.string());
    EXPECT_TRUE(file) << file.error().to_string();
    const auto snapshot = (*file)->latest();
    trace::event_id last{};
    EXPECT_TRUE(snapshot->for_each<trace::checkpoint_event>(
        [&](const trace::checkpoint_event& row) { last = std::max(last, row.id); }));
    std::map<std::uint64_t, int> found;
    EXPECT_TRUE(snapshot->for_each<trace::live_block_event>([&](const trace::live_block_event& row) {
      if (row.checkpoint == last && row.layer == layer) ++found[row.bytes];
    }));
    return found;
  }

  /// Allocates and frees faster than the writer reads, until events are lost.
  static void flood(pool_memory_resource& pool, const stream& on) {
    constexpr int least = 2000, most = 200'000;
    const std::uint64_t lost_before = ring::lost_memory_events();
    for (int i = 0; i < least || (i < most && ring::lost_memory_events() == lost_before); ++i)
      pool.deallocate(on, pool.allocate(on, hit_bytes), hit_bytes);
  }

  /// Waits long enough for the writer to empty the ring.
  void let_time_pass() const {
    if (simulated()) return device().backend().host_spends(backend::host_work::read_file, 4096 * mib);
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
  }

  fs::path path_;
};
SLUICE_ON_EACH_DEVICE(lost_events);

// A live set includes a block even if other blocks used its address a moment ago.
TEST_P(lost_events, leave_no_block_of_a_pool_live_that_was_freed) {
  const auto p = std::make_shared<pool_memory_resource>(std::make_shared<device_memory_resource>(device()));
  const stream s;
  recording r(path_.string(), device());
  std::vector<device_buffer> gone, kept;
  for (int i = 0; i < 10; ++i) {
    gone.emplace_back(gone_bytes, s, p);
    kept.emplace_back(kept_bytes, s, p);
    let_time_pass();  // Earlier allocations have been recorded.
  }
  for (device_buffer& buffer : gone) {
    flood(*p, s);
    buffer.reset();
  }
  flood(*p, s);
  void* const last = p->allocate(s, hit_bytes);
  EXPECT_GT(r.finish().lost, 0u);
  p->deallocate(s, last, hit_bytes);

  EXPECT_THAT(live_at_end(trace::layer::pool),
              testing::UnorderedElementsAre(testing::Pair(kept_bytes, 10), testing::Pair(hit_bytes, 1)));
  EXPECT_THAT(live_at_end(trace::layer::user), testing::UnorderedElementsAre(testing::Pair(kept_bytes, 10)));
}

// In any recording, all pools of the process report changes to their blocks, and therefore also their live sets. Only
// pools created during the recording report their creation.
TEST_P(lost_events, leave_live_what_pools_of_other_devices_have) {
  const auto p = std::make_shared<pool_memory_resource>(std::make_shared<device_memory_resource>(device()));
  backend::simulated_config config;
  config.ordinal = 7;
  const device_ref other(backend::make_simulated_device(config));
  const auto own = [&] {
    return std::make_shared<pool_memory_resource>(std::make_shared<device_memory_resource>(other));
  };
  const stream s, on_other(other);
  // All simulated devices start at the same address.
  const auto before = own(), earlier = own();
  before->deallocate(on_other, before->allocate(on_other, hit_bytes), hit_bytes);
  recording r(path_.string(), device());
  const auto later = own();
  const device_buffer kept(kept_bytes, on_other, earlier), kept_too(kept_bytes, on_other, later);
  let_time_pass();
  flood(*p, s);
  EXPECT_GT(r.finish().lost, 0u);

  EXPECT_THAT(live_at_end(trace::layer::pool), testing::UnorderedElementsAre(testing::Pair(kept_bytes, 2)));
  EXPECT_THAT(live_at_end(trace::layer::user), testing::UnorderedElementsAre(testing::Pair(kept_bytes, 2)));
}

}  // namespace
}  // namespace sluice::runtime
