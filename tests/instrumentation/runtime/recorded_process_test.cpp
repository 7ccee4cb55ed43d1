// A program of the runtime under `sluice record`: a separate process, with the fake driver if there is no other.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "core/trace/file/reader.hpp"
#include "instrumentation/ring/producer.hpp"
#include "instrumentation/ring/producer_losses.hpp"
#include "instrumentation/runtime/pool_library/sluice_pool.h"
#include "instrumentation/runtime/pool_memory_resource.hpp"
#include "instrumentation/writer/session.hpp"

namespace sluice::runtime {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t gone_bytes = 1000, kept_bytes = 2000, hit_bytes = 3000;

class recorded_process : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = fs::temp_directory_path() / ("sluice_recorded_process_" + std::to_string(getpid()) + ".sluice");
  }
  void TearDown() override { fs::remove(path_); }

  /// Runs the test `role` of this program, recorded. Skips where it found no device.
  void record(const std::string& role, const std::string& ring_bytes) {
    auto session = collector::session::start(path_.string());
    ASSERT_TRUE(session) << session.error().to_string();
    const std::string filter = "--gtest_filter=" + role;
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      setenv(collector::socket_variable, session->socket_name().c_str(), 1);
      setenv("SLUICE_RING_BYTES", ring_bytes.c_str(), 1);
      setenv("LD_LIBRARY_PATH", SLUICE_BINARY_DIR "/tests/instrumentation/capture/fake", 1);
      execl("/proc/self/exe", "test_runtime", "--gtest_also_run_disabled_tests", filter.c_str(), nullptr);
      _exit(127);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    const auto done = session->stop();
    ASSERT_TRUE(done) << done.error().to_string();
    if (WEXITSTATUS(status) == no_device) GTEST_SKIP() << "skipped: no CUDA device, and no fake driver";
    ASSERT_EQ(status, 0);
    lost_ = done->lost_memory_events;
    auto file = trace::file::open(path_.string());
    ASSERT_TRUE(file) << file.error().to_string();
    snapshot_ = (*file)->latest();
  }

  static constexpr int no_device = 77;
  fs::path path_;
  std::uint64_t lost_ = 0;
  std::shared_ptr<const trace::snapshot> snapshot_;
};

device_ref device_or_exit(int otherwise) {
  if (!is_available() || !collector::active()) _exit(otherwise);
  return devices().front();
}

/// It ends as soon as it has freed its last blocks, which its ring had no room to say.
TEST(roles_of_recorded_processes, DISABLED_frees_at_its_end_what_its_ring_cannot_say) {
  const device_ref device = device_or_exit(77);
  const auto p = std::make_shared<pool_memory_resource>(std::make_shared<device_memory_resource>(device));
  const stream s(device);
  std::vector<void*> gone;
  for (int i = 0; i < 10; ++i) {
    gone.push_back(p->allocate(s, gone_bytes));
    (void)p->allocate(s, kept_bytes);
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(200));  // The writer knows these.
  const auto flood = [&] {
    const std::uint64_t before = collector::lost_memory_events();
    while (collector::lost_memory_events() == before) {
      for (int i = 0; i < 2000; ++i) p->deallocate(s, p->allocate(s, hit_bytes), hit_bytes);
    }
  };
  flood();
  for (void* const block : gone) p->deallocate(s, block, gone_bytes);
  flood();
  // As a program that ends without giving up what it has.
  [[maybe_unused]] static const auto* const held = new std::shared_ptr(p);
  std::exit(0);
}

TEST_F(recorded_process, leaves_no_block_of_a_pool_live_that_it_freed_right_before_its_end) {
  record("roles_of_recorded_processes.DISABLED_frees_at_its_end_what_its_ring_cannot_say", "16384");
  if (IsSkipped() || HasFatalFailure()) return;
  EXPECT_GT(lost_, 0u);
  trace::event_id last{};
  bool exact = false;
  EXPECT_TRUE(snapshot_->for_each<trace::checkpoint_event>([&](const trace::checkpoint_event& row) {
    if (row.id < last) return;
    last = row.id;
    exact = row.exact;
  }));
  EXPECT_TRUE(exact) << "only a pool's blocks were lost, and it has told them all";
  std::map<std::uint64_t, int> live;
  EXPECT_TRUE(snapshot_->for_each<trace::live_block_event>([&](const trace::live_block_event& row) {
    if (row.checkpoint == last && row.layer == trace::layer::pool) ++live[row.bytes];
  }));
  EXPECT_THAT(live, testing::ElementsAre(testing::Pair(kept_bytes, 10)));
}

/// One in the program, one in a library of it; each with its own rings.
TEST(roles_of_recorded_processes, DISABLED_has_the_runtime_twice) {
  const device_ref device = device_or_exit(77);
  void* const library = dlopen(SLUICE_BINARY_DIR "/libsluice_pool.so", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) _exit(1);
  const auto theirs_malloc = reinterpret_cast<decltype(&::sluice_malloc)>(dlsym(library, "sluice_malloc"));
  const auto theirs_free = reinterpret_cast<decltype(&::sluice_free)>(dlsym(library, "sluice_free"));
  pool_memory_resource ours(std::make_shared<device_memory_resource>(device), {.name = "the program's"});
  const stream s(device);
  for (int i = 0; i < 100; ++i) {
    void* const mine = ours.allocate(s, gone_bytes);
    void* const theirs = theirs_malloc(gone_bytes, 0, nullptr);
    // Both begin counting their pools at one, and each may free beside the other's blocks.
    if (mine == nullptr || theirs == nullptr || mine == theirs) _exit(2);
    theirs_free(theirs, gone_bytes, 0, nullptr);
    ours.deallocate(s, mine, gone_bytes);
  }
  (void)ours.allocate(s, kept_bytes);
  (void)theirs_malloc(hit_bytes, 0, nullptr);
  std::exit(0);
}

TEST_F(recorded_process, that_has_the_runtime_twice_has_the_pools_and_blocks_of_both) {
  record("roles_of_recorded_processes.DISABLED_has_the_runtime_twice", "1048576");
  if (IsSkipped() || HasFatalFailure()) return;
  EXPECT_EQ(lost_, 0u);
  struct account {
    int allocated = 0, freed = 0;
    std::set<std::uint64_t> kept;
    bool operator==(const account&) const = default;
  };
  std::map<std::string, account> pools;
  std::map<trace::block_id, account*> blocks;
  EXPECT_TRUE(snapshot_->for_each<trace::alloc_event>([&](const trace::alloc_event& row) {
    if (row.layer != trace::layer::pool) return;
    account& of = pools[std::string(snapshot_->tables().text(snapshot_->tables().pools.find(row.pool)->name))];
    ++of.allocated;
    of.kept.insert(row.bytes);
    blocks[row.block] = &of;
  }));
  EXPECT_TRUE(snapshot_->for_each<trace::free_event>([&](const trace::free_event& row) {
    if (const auto found = blocks.find(row.block); found != blocks.end()) ++found->second->freed;
  }));
  ASSERT_THAT(pools, testing::SizeIs(2));
  for (const auto& [name, of] : pools) EXPECT_EQ(of.allocated - of.freed, 1) << name;
  EXPECT_EQ(pools["the program's"].allocated, 101);
  EXPECT_EQ(pools["the program's"].kept, (std::set<std::uint64_t>{gone_bytes, kept_bytes}));
  EXPECT_EQ(pools["libsluice_pool"].allocated, 101);
  EXPECT_EQ(pools["libsluice_pool"].kept, (std::set<std::uint64_t>{gone_bytes, hit_bytes}));
}

}  // namespace
}  // namespace sluice::runtime
