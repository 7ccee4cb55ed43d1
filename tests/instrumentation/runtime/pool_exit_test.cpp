#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "instrumentation/backend/simulated/device.hpp"
#include "instrumentation/collector/listener.hpp"
#include "instrumentation/collector/producer.hpp"
#include "instrumentation/collector/producer_losses.hpp"
#include "instrumentation/runtime/buffer.hpp"
#include "instrumentation/runtime/layer_log.hpp"
#include "instrumentation/runtime/live_sets.hpp"
#include "instrumentation/runtime/pool_core.hpp"
#include "instrumentation/runtime/pool_memory_resource.hpp"

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
  std::uint64_t entered = 0;
  ASSERT_TRUE(mine.enter(entered));
  std::thread([core] { (void)core->stats(); }).detach();
  while (!mine.claimed.load(std::memory_order_acquire)) std::this_thread::sleep_for(1ms);
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

TEST(pool_exit, does_not_wait_for_its_own_thread) {
  for (const char* role : {"interrupted_under_the_mutex", "interrupted_without_a_front", "interrupted_in_a_hit",
                           "interrupted_after_losses"}) {
    EXPECT_EQ(status_of(role), ended_by_handler) << role;
  }
}

}  // namespace
}  // namespace sluice::runtime
