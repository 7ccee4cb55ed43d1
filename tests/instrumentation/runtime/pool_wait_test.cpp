#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <thread>

#include "instrumentation/backend/simulated/device/device.hpp"
#include "instrumentation/runtime/copy.hpp"
#include "instrumentation/runtime/pool_memory_resource.hpp"
#include "tests/instrumentation/sizes.hpp"

// While a pool waits for a stream, other threads can allocate.

namespace sluice::runtime {
namespace {

using namespace std::chrono_literals;

/// A device on which the first wait for an event lasts until the test releases it or it times out.
class slow_event_device final : public backend::simulated_device {
 public:
  using simulated_device::simulated_device;
  [[nodiscard]] backend::device_result<void> sync_event(backend::event_handle event) override {
    if (!std::exchange(waited_, true)) {
      waits.set_value();
      in_time = let_go.get_future().wait_for(30s) == std::future_status::ready;
    }
    return simulated_device::sync_event(event);
  }

  std::promise<void> waits, let_go;
  bool in_time = false;

 private:
  bool waited_ = false;
};

class pool_wait : public testing::Test {
 protected:
  static constexpr std::size_t bytes = 2 * mib;

  /// Another thread's `work` waits for a stream of the pool's; meanwhile this thread allocates.
  void allocate_beside(const std::function<void()>& work) {
    void* const mine = p_->allocate(stream_, bytes);
    std::thread other([&] {
      const device_guard here(ref_);
      work();
    });
    device_->waits.get_future().wait();
    p_->deallocate(stream_, mine, bytes);
    void* const more = p_->allocate(stream_, 2 * bytes);
    device_->let_go.set_value();
    other.join();
    p_->deallocate(stream_, more, 2 * bytes);
    EXPECT_TRUE(device_->in_time) << "the allocation waited for the other thread";
  }
  void use(const stream& s) const {
    void* const block = p_->allocate(s, bytes);
    set_async(block, 1, bytes, s);
    p_->deallocate(s, block, bytes);
  }

  std::shared_ptr<slow_event_device> device_ = std::make_shared<slow_event_device>(backend::simulated_config{});
  device_ref ref_{device_};
  device_guard guard_{ref_};
  std::shared_ptr<pool_memory_resource> p_ = std::make_shared<pool_memory_resource>(
      std::make_shared<device_memory_resource>(ref_), pool_options{.growth_bytes = bytes});
  stream stream_;
};

TEST_F(pool_wait, a_trim_lets_others_allocate) {
  const stream busy;
  use(busy);
  allocate_beside([&] { p_->trim(); });
}

TEST_F(pool_wait, a_stream_that_goes_lets_others_allocate) {
  std::optional<stream> busy(std::in_place);
  use(*busy);
  allocate_beside([&] { busy.reset(); });
}

}  // namespace
}  // namespace sluice::runtime
