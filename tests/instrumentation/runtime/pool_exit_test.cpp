#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "instrumentation/backend/simulated/device.hpp"
#include "instrumentation/ring/producer.hpp"
#include "instrumentation/ring/producer_losses.hpp"
#include "instrumentation/runtime/buffer.hpp"
#include "instrumentation/runtime/callback_memory_resource.hpp"
#include "instrumentation/runtime/device/device_state.hpp"
#include "instrumentation/runtime/pool/live_sets.hpp"
#include "instrumentation/runtime/pool/pool_core.hpp"
#include "instrumentation/runtime/pool_memory_resource.hpp"
#include "instrumentation/runtime/recording/layer_log.hpp"
#include "instrumentation/writer/listener.hpp"

// A signal handler that ends the program by `exit` may have interrupted a thread inside a pool: destructors run all the same, and wait
// for nothing that this thread holds.

namespace sluice::runtime {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t bytes = 2u << 20;
constexpr int ended_by_handler = 7, not_ended = 8;
constexpr const char* role_variable = "SLUICE_POOL_EXIT_ROLE";

/// How the test `role` ends in a process of its own; -1 if it does not within half a minute.
int status_of(const std::string& role) {
  const pid_t child = fork();
  if (child == 0) {
    const std::string filter = "--gtest_filter=pool_exit_roles.DISABLED_" + role;
    setenv(role_variable, "1", 1);
    // `exit` is nothing for a handler, and yet programs call it there.
    const char* sanitizer = std::getenv("TSAN_OPTIONS");
    setenv("TSAN_OPTIONS", (std::string(sanitizer != nullptr ? sanitizer : "") + " report_signal_unsafe=0").c_str(), 1);
    execl("/proc/self/exe", "test", filter.c_str(), "--gtest_also_run_disabled_tests", "--gtest_brief=1", nullptr);
    _exit(not_ended);
  }
  int status = 0;
  for (const auto until = std::chrono::steady_clock::now() + 30s; waitpid(child, &status, WNOHANG) == 0;) {
    if (std::chrono::steady_clock::now() < until) {
      std::this_thread::sleep_for(5ms);
      continue;
    }
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    return -1;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/// Calls back when memory comes or goes, with the pool's mutex held.
class interrupting_device final : public backend::simulated_device {
 public:
  using simulated_device::simulated_device;
  [[nodiscard]] backend::outcome<backend::physical_handle> create_physical(std::uint64_t size) override {
    if (interrupt) interrupt();
    return simulated_device::create_physical(size);
  }
  [[nodiscard]] backend::outcome<void> unmap(void* address, std::uint64_t size) override {
    if (interrupt) interrupt();
    return simulated_device::unmap(address, size);
  }
  std::function<void()> interrupt;
};

class pool_exit_roles : public testing::Test {
 protected:
  void SetUp() override {
    if (std::getenv(role_variable) == nullptr) GTEST_SKIP() << "a role of another test";
    (void)signal(SIGUSR1, [](int) { std::exit(ended_by_handler); });
  }

  // As in static storage: they go after the thread's own.
  struct program {
    std::shared_ptr<interrupting_device> device = std::make_shared<interrupting_device>(backend::simulated_config{});
    device_ref ref{device};
    device_guard guard{ref};
    std::shared_ptr<pool_memory_resource> pool = std::make_shared<pool_memory_resource>(
        std::make_shared<device_memory_resource>(ref), pool_options{.growth_bytes = bytes});
    std::optional<stream> s{std::in_place};
    device_buffer kept{bytes / 2, *s, pool};
  };
  static program& here() {
    static program only;
    return only;
  }
  static void end_the_program() { (void)raise(SIGUSR1); }
};

TEST_F(pool_exit_roles, DISABLED_interrupted_under_the_mutex) {
  program& p = here();
  p.device->interrupt = end_the_program;
  (void)p.pool->allocate(*p.s, bytes);
}

TEST_F(pool_exit_roles, DISABLED_interrupted_without_a_front) {
  program& p = here();
  p.pool->deallocate(*p.s, p.pool->allocate(*p.s, bytes), bytes);
  p.device->interrupt = end_the_program;
  std::thread([&] { p.pool->trim(); }).join();
}

// Another thread waits for the hit to end, with the pool's mutex held.
TEST_F(pool_exit_roles, DISABLED_interrupted_in_a_hit) {
  program& p = here();
  auto core = std::make_shared<pooling::pool_core>(
      p.ref, memory_space::device,
      std::make_unique<pooling::growth_from_upstream>(std::make_shared<device_memory_resource>(p.ref)), pool_options{});
  pooling::block* const b = core->allocate(*p.s, bytes);
  const std::uint64_t on = stream_ref(*p.s).identity();
  core->give_back(on, b);
  pooling::front& mine = *core->own_lane(on)->owner;
  std::uint64_t before = 0;
  ASSERT_TRUE(mine.enter(before));
  std::thread([core] { (void)core->stats(); }).detach();
  while (!mine.is_claimed()) std::this_thread::sleep_for(1ms);
  static const auto closed_at_end = core;
  (void)std::atexit([] { closed_at_end->close(); });
  end_the_program();
}

// The last look at what is live finds the pool held by the thread itself.
TEST_F(pool_exit_roles, DISABLED_interrupted_after_losses) {
  program& p = here();
  const auto door = collector::listener::open();
  ASSERT_TRUE(door.has_value());
  layer_log::recording_comes();
  ASSERT_TRUE(collector::start(door->name().c_str(), {.ring_bytes = collector::minimum_ring_bytes}));
  layer_log::recording_is_here();
  static live_set_teller* const teller = new live_set_teller;
  (void)std::atexit([] { teller->end(); });
  p.device->interrupt = [&] {
    // While the teller's thread waits for the pool.
    while (collector::lost_memory_events() == 0) layer_log::freed(*p.s, {});
    std::this_thread::sleep_for(150ms);
    end_the_program();
  };
  (void)p.pool->allocate(*p.s, bytes);
}

// What a thread makes for itself after its first use of a pool goes before its fronts do.

TEST_F(pool_exit_roles, DISABLED_interrupted_with_a_stream_of_its_own) {
  program& p = here();
  (void)per_thread_stream(p.ref);
  p.device->interrupt = end_the_program;
  (void)p.pool->allocate(*p.s, bytes);
}

TEST_F(pool_exit_roles, DISABLED_interrupted_with_a_buffer_of_its_own) {
  program& p = here();
  static const auto pool = std::make_shared<pool_memory_resource>(
      std::make_shared<device_memory_resource>(p.ref), pool_options{.growth_bytes = bytes, .front_bytes = 1});
  thread_local const device_buffer own(bytes / 2, *p.s, pool);
  p.device->interrupt = end_the_program;
  (void)pool->allocate(*p.s, bytes);
}

TEST_F(pool_exit_roles, DISABLED_interrupted_with_a_pool_of_its_own) {
  program& p = here();
  auto pool = std::make_shared<pool_memory_resource>(std::make_shared<device_memory_resource>(p.ref),
                                                     pool_options{.growth_bytes = bytes});
  pool_memory_resource& own = *pool;
  const scoped_resource last_reference(std::move(pool));
  p.device->interrupt = end_the_program;
  (void)own.allocate(*p.s, bytes);
}

TEST_F(pool_exit_roles, DISABLED_interrupted_in_a_hit_with_a_block_of_its_own) {
  program& p = here();
  auto core = std::make_shared<pooling::pool_core>(
      p.ref, memory_space::device,
      std::make_unique<pooling::growth_from_upstream>(std::make_shared<device_memory_resource>(p.ref)), pool_options{});
  struct block_of_its_own {
    std::shared_ptr<pooling::pool_core> core;
    std::uint64_t on;
    pooling::block* block;
    ~block_of_its_own() {
      if (!core->keep(core->own_lane(on), on, block)) core->give_back(on, block);
    }
  };
  const std::uint64_t on = stream_ref(*p.s).identity();
  core->give_back(on, core->allocate(*p.s, bytes));
  thread_local const block_of_its_own own{core, on, core->allocate(*p.s, bytes)};
  pooling::front& mine = *core->own_lane(on)->owner;
  std::uint64_t before = 0;
  ASSERT_TRUE(mine.enter(before));
  std::thread([core] { (void)core->stats(); }).detach();
  while (!mine.is_claimed()) std::this_thread::sleep_for(1ms);
  end_the_program();
}

// Another thread has the device's list, and waits for the pool.
TEST_F(pool_exit_roles, DISABLED_interrupted_with_others_waiting) {
  program& p = here();
  (void)per_thread_stream(p.ref);
  p.device->interrupt = [&] {
    p.device->interrupt = nullptr;
    std::thread([&] { const stream gone(p.ref); }).detach();
    std::this_thread::sleep_for(100ms);
    end_the_program();
  };
  (void)p.pool->allocate(*p.s, bytes);
}

/// Does nothing where nothing else is said.
class observing : public device_observer {
 public:
  void retire(backend::stream_handle /*stream*/) noexcept override {
    if (on_retire) on_retire();
  }
  void announce() noexcept override {}
  [[nodiscard]] bool list_live(std::vector<pool_live_set>& /*to*/, const look_limit& limit) override {
    return !on_list || on_list(limit);
  }
  std::function<void()> on_retire;
  std::function<bool(const look_limit&)> on_list;
};

// The device's mutex is held, and none of a pool.
TEST_F(pool_exit_roles, DISABLED_interrupted_while_a_stream_goes) {
  program& p = here();
  (void)per_thread_stream(p.ref);
  static observing o;
  o.on_retire = end_the_program;
  p.ref.state()->observe(&o);
  const stream gone(p.ref);
}

// Another thread's last look holds the device's mutex for as long as it may, and others come after it.
TEST_F(pool_exit_roles, DISABLED_interrupted_during_a_last_look) {
  program& p = here();
  static const auto state = device_ref(backend::make_simulated_device()).state();
  static const auto look = [](std::chrono::milliseconds longest) {
    std::vector<pool_live_set> sets;
    (void)state->list_live(sets, look_limit(std::chrono::steady_clock::now() + longest));
  };
  static std::atomic<bool> looks{false}, gone{false};
  static observing o;
  o.on_list = [](const look_limit& limit) {
    if (gone.load()) _exit(not_ended);
    for (looks.store(true); !limit.reached();) std::this_thread::sleep_for(1ms);
    return false;
  };
  state->observe(&o);
  (void)std::atexit([] {
    state->forget(&o);
    gone.store(true);
    std::thread(look, 10s).join();
  });
  std::thread([] { look(live_set_teller::longest_end); }).detach();
  while (!looks.load()) std::this_thread::sleep_for(1ms);
  p.device->interrupt = end_the_program;
  (void)p.pool->allocate(*p.s, bytes);
}

TEST(pool_exit, does_not_wait_for_its_own_thread) {
  for (const char* role : {"interrupted_under_the_mutex", "interrupted_without_a_front", "interrupted_in_a_hit",
                           "interrupted_after_losses"}) {
    EXPECT_EQ(status_of(role), ended_by_handler) << role;
  }
}

TEST(pool_exit, does_not_wait_for_its_own_thread_where_that_has_more_to_end) {
  for (const char* role : {"interrupted_with_a_stream_of_its_own", "interrupted_with_a_buffer_of_its_own",
                           "interrupted_with_a_pool_of_its_own", "interrupted_in_a_hit_with_a_block_of_its_own",
                           "interrupted_while_a_stream_goes"}) {
    EXPECT_EQ(status_of(role), ended_by_handler) << role;
  }
}

// Nothing can order what the other thread did before the end: ThreadSanitizer is right to see a race.
#if !defined(__SANITIZE_THREAD__)
TEST(pool_exit, does_not_wait_for_its_own_thread_where_another_waits_for_that) {
  EXPECT_EQ(status_of("interrupted_with_others_waiting"), ended_by_handler);
}
#endif

// A pool that is inside another one's call-back is none that a handler interrupted.
TEST(pool_exit, call_backs_use_pools_as_ever) {
  const device_ref device(backend::make_simulated_device());
  const auto direct = std::make_shared<device_memory_resource>(device);
  std::function<void()> call_back;
  const auto upstream = std::make_shared<callback_memory_resource>(
      device, memory_space::device,
      [&](std::size_t size, const stream_ref& s) {
        if (call_back) call_back();
        return direct->allocate(s, size);
      },
      [&](void* address, std::size_t size, const stream_ref& s) {
        if (call_back) call_back();
        direct->deallocate(s, address, size);
      });
  const stream s(device);
  auto below = std::make_shared<pool_memory_resource>(upstream, pool_options{.front_bytes = 1});
  pool_memory_resource& first = *below;
  auto above = std::make_shared<pool_memory_resource>(std::move(below), pool_options{.front_bytes = 1});
  device_buffer of_first(bytes, s, std::shared_ptr<pool_memory_resource>(above, &first)), of_above(bytes, s, above);
  call_back = [&] {
    of_first.reset();
    of_above.reset();
    const stream gone(device);
    const pool_memory_resource other(direct);
  };
  void* const large = above->allocate(s, 64 * bytes);
  EXPECT_EQ(above->stats().used_blocks, 1u);
  EXPECT_EQ(first.stats().used_blocks, above->stats().segments);
  above->deallocate(s, large, 64 * bytes);
  above.reset();  // Its upstream goes with it, and calls back.
  EXPECT_FALSE(pooling::is_cut_off());
}

TEST(pool_exit, leaves_no_observer_behind) { EXPECT_EQ(status_of("interrupted_during_a_last_look"), ended_by_handler); }

}  // namespace
}  // namespace sluice::runtime
