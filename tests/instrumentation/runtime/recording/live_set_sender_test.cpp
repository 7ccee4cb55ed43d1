#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "instrumentation/backend/simulated/device/device.hpp"
#include "instrumentation/ring/producer.hpp"
#include "instrumentation/ring/producer_losses.hpp"
#include "instrumentation/runtime/pool_memory_resource.hpp"
#include "instrumentation/runtime/recording/live_sets.hpp"
#include "instrumentation/runtime/state/layer_log.hpp"
#include "instrumentation/writer/session/listener.hpp"
#include "tests/instrumentation/sizes.hpp"

// Program exit sends the last live sets and waits for them, but not forever if a thread blocks.

namespace sluice::runtime {
namespace {

using namespace std::chrono_literals;

/// Expected maximum duration of a recording's end; longer than the 0.2 s after which a writer counts as stuck.
constexpr auto most = 300ms;
/// The maximum duration on a busy machine.
constexpr auto longest = 30 * most;
/// The duration of the hold, longer than `longest`.
constexpr auto held_for = 30s;

/// A device on which, after `hold`, the first allocation of memory lasts until the test releases it or it times out.
class holding_device final : public backend::simulated_device {
 public:
  using simulated_device::simulated_device;
  [[nodiscard]] backend::device_result<backend::physical_handle> create_physical(std::uint64_t size) override {
    if (std::exchange(hold, false)) {
      holds.set_value();
      in_time = let_go.get_future().wait_for(held_for) == std::future_status::ready;
    }
    return simulated_device::create_physical(size);
  }

  bool hold = false;
  std::promise<void> holds, let_go;
  bool in_time = false;
};

class live_set_sender_end : public testing::Test {
 protected:
  static constexpr std::size_t bytes = 2 * mib, small_bytes = 512;

  void SetUp() override {
    ASSERT_TRUE(writer_address_.has_value());
    setenv("SLUICE_RING_BYTES", "16384", 1);
  }
  void TearDown() override {
    ring::stop();
    unsetenv("SLUICE_RING_BYTES");
  }

  /// Starts a recording whose writer has lost frees and drains only on request.
  void record_and_lose() {
    layer_log::recording_comes();
    ASSERT_TRUE(ring::start(writer_address_->name().c_str(), {}));
    layer_log::recording_is_here();
    while (ring::lost_memory_events() == 0) layer_log::freed(stream_, {});
  }
  /// Drains everything that is available, once.
  void take() {
    std::vector<std::string> complaints;
    for (auto& ring : writer_address_->take(complaints)) rings_.push_back(std::move(ring));
    std::vector<std::byte> taken;
    for (writer::arrival& ring : rings_) ASSERT_TRUE(ring.reader.drain(taken).has_value());
  }

  decltype(writer::listener::open()) writer_address_ = writer::listener::open();
  std::vector<writer::arrival> rings_;
  std::shared_ptr<holding_device> device_ = std::make_shared<holding_device>(backend::simulated_config{});
  device_ref ref_{device_};
  device_guard guard_{ref_};
  std::shared_ptr<pool_memory_resource> p_ = std::make_shared<pool_memory_resource>(
      std::make_shared<device_memory_resource>(ref_), pool_options{.growth_bytes = bytes});
  stream stream_;
};

TEST_F(live_set_sender_end, comes_where_the_writer_takes_nothing) {
  void* const kept = p_->allocate(stream_, small_bytes);
  record_and_lose();
  live_set_sender sender;
  const auto begin = std::chrono::steady_clock::now();
  sender.end(most);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, longest);
  p_->deallocate(stream_, kept, small_bytes);
}

// The writer makes room repeatedly, each time just before it would count as stuck.
TEST_F(live_set_sender_end, comes_where_the_writer_is_slow) {
  constexpr std::size_t blocks = 100'000;  // 400 parts of a live set, of which a ring holds one or two.
  constexpr auto between = 150ms;
  std::vector<void*> kept(blocks);
  for (void*& block : kept) block = p_->allocate(stream_, small_bytes);
  record_and_lose();
  std::jthread writer([&](const std::stop_token& stop) {
    for (; !stop.stop_requested(); std::this_thread::sleep_for(between)) take();
  });
  live_set_sender sender;
  const auto begin = std::chrono::steady_clock::now();
  sender.end(most);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, longest);
  for (void* block : kept) p_->deallocate(stream_, block, small_bytes);
}

TEST_F(live_set_sender_end, comes_where_a_pool_is_held) {
  record_and_lose();
  device_->hold = true;
  std::thread owner([&] {
    const device_guard here(ref_);
    p_->deallocate(stream_, p_->allocate(stream_, bytes), bytes);
  });
  device_->holds.get_future().wait();
  live_set_sender sender;
  const auto begin = std::chrono::steady_clock::now();
  sender.end(most);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, longest);
  device_->let_go.set_value();
  owner.join();
  EXPECT_TRUE(device_->in_time) << "it waited for the pool";
}

}  // namespace
}  // namespace sluice::runtime
