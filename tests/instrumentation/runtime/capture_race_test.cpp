#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "instrumentation/backend/simulated/device/device.hpp"
#include "instrumentation/runtime/copy.hpp"
#include "instrumentation/runtime/graph.hpp"
#include "instrumentation/runtime/pool_memory_resource.hpp"
#include "tests/instrumentation/runtime/on_each_device.hpp"
#include "tests/instrumentation/sizes.hpp"

// Captures begin on a stream while pools on other threads query that stream or wait for it.

namespace sluice::runtime {
namespace {

/// A device that, after it has reported whether a stream is captured, and before calls that a capture forbids, lets
/// other threads run.
class pausing_device final : public backend::simulated_device {
 public:
  using simulated_device::simulated_device;
  [[nodiscard]] backend::device_result<backend::capture_info> stream_capture(backend::stream_handle stream) override {
    auto result = simulated_device::stream_capture(stream);
    pause();
    return result;
  }
  [[nodiscard]] backend::device_result<void> free(void* address) override {
    return pause(), simulated_device::free(address);
  }
  [[nodiscard]] backend::device_result<void> sync_stream(backend::stream_handle stream) override {
    return pause(), simulated_device::sync_stream(stream);
  }
  void destroy_exec(backend::graph_exec_handle exec) noexcept override {
    pause(), simulated_device::destroy_exec(exec);
  }

 private:
  static void pause() noexcept { std::this_thread::sleep_for(std::chrono::microseconds(20)); }
};

/// A slot into which one thread stores a value for another thread to take.
template <class T>
class place {
 public:
  void leave(T subject) {
    const std::lock_guard lock(mutex_);
    left_.push_back(std::move(subject));
  }
  std::optional<T> take() {
    const std::lock_guard lock(mutex_);
    if (left_.empty()) return std::nullopt;
    std::optional<T> last(std::move(left_.back()));
    left_.pop_back();
    return last;
  }

 private:
  std::mutex mutex_;
  std::vector<T> left_;
};

class capture_race : public on_each_device {
 protected:
  static constexpr std::size_t bytes = 2 * mib;

  void SetUp() override {
    on_each_device::SetUp();
    if (IsSkipped()) return;
    device_ = simulated() ? device_ref(std::make_shared<pausing_device>(backend::simulated_config{}))
                          : on_each_device::device();
    guard_ = std::make_unique<device_guard>(*device_);
  }
  void TearDown() override {
    guard_.reset();
    on_each_device::TearDown();
  }
  [[nodiscard]] const device_ref& device() const { return *device_; }

  /// Makes a pool with room for one block of `bytes`. Fronts keep nothing: an allocation after a free on another stream
  /// queries that stream.
  [[nodiscard]] std::shared_ptr<pool_memory_resource> make() const {
    return std::make_shared<pool_memory_resource>(
        std::make_shared<device_memory_resource>(device()),
        pool_options{.limit_bytes = bytes, .growth_bytes = bytes, .front_bytes = 1});
  }

  /// Runs `before` and `capture` repeatedly while another thread repeatedly runs `work`. Each of the two threads may
  /// find that the other thread has all the memory for the moment.
  void capture_beside(const std::function<void()>& before, const std::function<void(capture_mode)>& capture,
                      const std::function<void()>& work) const {
    constexpr int captures = 300;
    std::atomic<bool> done{false};
    const auto tried = [](const std::function<void()>& subject) {
      try {
        subject();
      } catch (const out_of_memory&) {
      }
    };
    std::thread other([&] {
      const device_guard here(device());
      while (!done.load()) tried(work);
    });
    std::vector<std::string> broken;
    for (int i = 0; i < captures; ++i) {
      try {
        tried(before);
        // The capture starts sometimes when the other thread starts its query, sometimes when it has the result.
        std::this_thread::sleep_for(std::chrono::microseconds(i % 8 * 20));
        capture(i % 2 == 0 ? capture_mode::this_thread : capture_mode::relaxed);
      } catch (const error& e) {
        broken.emplace_back(e.what());
      }
    }
    done.store(true);
    other.join();
    EXPECT_TRUE(broken.empty()) << broken.size() << " of " << captures << " captures: " << broken.front();
  }

  [[nodiscard]] static std::function<void(capture_mode)> of(const stream& owner) {
    return [&owner](capture_mode mode) { (void)graph_capture(owner, mode).finish(); };
  }

 private:
  std::optional<device_ref> device_;
  std::unique_ptr<device_guard> guard_;
};
SLUICE_ON_EACH_DEVICE(capture_race);

TEST_P(capture_race, a_miss_that_looks_for_idle_streams_breaks_no_capture) {
  const auto p = make();
  const stream owner, other;
  capture_beside([&] { p->deallocate(owner, p->allocate(owner, bytes), bytes); }, of(owner),
                 [&] { p->deallocate(other, p->allocate(other, bytes), bytes); });
}

TEST_P(capture_race, a_miss_that_takes_a_busy_streams_memory_breaks_no_capture) {
  const auto p = make();
  const stream owner, other;
  const auto use = [&](const stream& on) {
    void* const block = p->allocate(on, bytes);
    set_async(block, 1, 4096, on);
    p->deallocate(on, block, bytes);
  };
  capture_beside([&] { use(owner); }, of(owner), [&] { use(other); });
}

TEST_P(capture_race, a_trim_breaks_no_capture) {
  const auto p = make();
  const stream owner;
  capture_beside([&] { p->deallocate(owner, p->allocate(owner, bytes), bytes); }, of(owner),
                 [&] {
                   p->trim();
                   std::this_thread::sleep_for(std::chrono::microseconds(50));
                 });
}

TEST_P(capture_race, a_miss_that_asks_about_the_default_stream_breaks_no_capture_of_one_that_keeps_order_with_it) {
  const auto p = make();
  const stream owner(stream_mode::blocking), other;
  const stream_ref by_default(device());
  capture_beside([] {}, of(owner),
                 [&] {
                   // The default stream must not be used during a capture, so here it only frees.
                   p->deallocate(by_default, p->allocate(other, bytes), bytes);
                 });
}

/// The capture is announced before it starts, but the moment of its start is unknown.
TEST_P(capture_race, a_miss_breaks_no_capture_that_was_announced) {
  const auto p = make();
  const stream owner, other;
  const auto named = [&](const stream& s) {
    return stream_ref::from_native(device(), s.get(), foreign_captures::announced);
  };
  const stream_ref captured = named(owner), beside = named(other);
  backend::device& d = device().backend();
  const announced_captures::key group{1, 0};
  capture_beside([&] { p->deallocate(captured, p->allocate(captured, bytes), bytes); },
                 [&](capture_mode mode) {
                   announced_captures::begin(device(), group, [](std::uintptr_t) { return false; });
                   std::this_thread::sleep_for(std::chrono::microseconds(20));
                   auto begun = d.begin_capture(captured.handle(), mode);
                   std::this_thread::sleep_for(std::chrono::microseconds(60));
                   auto ended = d.end_capture(captured.handle());
                   announced_captures::end(device(), group);
                   announced_captures::release(device(), group);
                   value_or_throw(std::move(begun));
                   d.destroy_graph(value_or_throw(std::move(ended)));
                 },
                 [&] { p->deallocate(beside, p->allocate(beside, bytes), bytes); });
}

// Blocks without a pool go back to the driver at once, which a capture of the same stream, or of any stream, forbids.

TEST_P(capture_race, a_free_of_device_memory_breaks_no_capture_that_forbids_every_thread_to_wait) {
  device_memory_resource r(device());
  const stream owner, other;
  place<void*> blocks;
  capture_beside([&] { blocks.leave(r.allocate(other, 4096)); },
                 [&](capture_mode) { (void)graph_capture(owner, capture_mode::global).finish(); },
                 [&] {
                   if (const auto block = blocks.take()) r.deallocate(other, *block, 4096);
                 });
  while (const auto block = blocks.take()) r.deallocate(other, *block, 4096);
}

TEST_P(capture_race, a_free_of_pinned_memory_breaks_no_capture_of_its_stream) {
  pinned_memory_resource r(device());
  const stream owner;
  place<void*> blocks;
  capture_beside([&] { blocks.leave(r.allocate(owner, 4096)); }, of(owner),
                 [&] {
                   if (const auto block = blocks.take()) r.deallocate(owner, *block, 4096);
                 });
  while (const auto block = blocks.take()) r.deallocate(owner, *block, 4096);
}

TEST_P(capture_race, the_end_of_an_executable_graph_breaks_no_capture_that_forbids_every_thread_to_wait) {
  const stream owner;
  place<graph_exec> graphs;
  capture_beside([&] { graphs.leave(graph_exec(graph_capture(owner).finish())); },
                 [&](capture_mode) { (void)graph_capture(owner, capture_mode::global).finish(); },
                 [&] { (void)graphs.take(); });
}

/// A device on which the first wait lasts until the test releases it or it times out.
class slow_wait_device final : public backend::simulated_device {
 public:
  using simulated_device::simulated_device;
  [[nodiscard]] backend::device_result<void> sync_stream(backend::stream_handle stream) override {
    return wait(), simulated_device::sync_stream(stream);
  }
  [[nodiscard]] backend::device_result<void> sync_event(backend::event_handle event) override {
    return wait(), simulated_device::sync_event(event);
  }

  std::promise<void> waits, let_go;
  bool in_time = false;

 private:
  void wait() {
    if (waited_.exchange(true)) return;
    waits.set_value();
    in_time = let_go.get_future().wait_for(std::chrono::seconds(30)) == std::future_status::ready;
  }
  std::atomic<bool> waited_{false};
};

TEST(capture_begins, while_a_free_waits_for_another_streams_work) {
  const auto simulated = std::make_shared<slow_wait_device>(backend::simulated_config{});
  const device_ref device(simulated);
  const device_guard here(device);
  pinned_memory_resource r(device);
  const stream owner, busy;
  void* const block = r.allocate(busy, 2 * mib);
  set_async(block, 1, 2 * mib, busy);
  std::thread other([&] {
    const device_guard there(device);
    r.deallocate(busy, block, 2 * mib);
  });
  simulated->waits.get_future().wait();
  (void)graph_capture(owner).finish();
  simulated->let_go.set_value();
  other.join();
  EXPECT_TRUE(simulated->in_time) << "the capture waited for the other thread";
}

}  // namespace
}  // namespace sluice::runtime
