// Records a program that uses the runtime by `sluice record`, with the fake driver if there is no real driver.
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "core/trace/file/reader.hpp"
#include "instrumentation/ring/producer.hpp"
#include "instrumentation/writer/session/session.hpp"
#include "tests/instrumentation/runtime/recording/roles/recorded.hpp"
#include "tests/programs.hpp"

namespace sluice::runtime {
namespace {

namespace fs = std::filesystem;

class recorded_process : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = fs::temp_directory_path() / ("sluice_recorded_process_" + std::to_string(getpid()) + ".sluice");
  }
  void TearDown() override { fs::remove(path_); }

  /// Records a program of roles/recorded.cpp. Skips the test if the program found no device.
  void record(const std::string& role, const std::string& ring_bytes) {
    auto session = writer::session::start(path_.string());
    ASSERT_TRUE(session) << session.error().to_string();
    const program_result ended =
        run_program({.words = {SLUICE_BINARY_DIR "/tests/instrumentation/runtime/recording/recorded_roles", role},
                     .environment = {{ring::socket_variable, session->socket_name()},
                                     {"SLUICE_RING_BYTES", ring_bytes},
                                     {"LD_LIBRARY_PATH", SLUICE_BINARY_DIR "/tests/instrumentation/capture/fake"}}});
    const auto done = session->stop();
    ASSERT_TRUE(done) << done.error().to_string();
    if (ended.status == recorded_roles::no_device) GTEST_SKIP() << "skipped: no CUDA device, and no fake driver";
    ASSERT_EQ(ended.status, 0) << ended.err;
    lost_ = done->lost_memory_events;
    auto file = trace::file::open(path_.string());
    ASSERT_TRUE(file) << file.error().to_string();
    snapshot_ = (*file)->latest();
  }

  fs::path path_;
  std::uint64_t lost_ = 0;
  std::shared_ptr<const trace::snapshot> snapshot_;
};

TEST_F(recorded_process, leaves_no_block_of_a_pool_live_that_it_freed_right_before_its_end) {
  record("frees_at_its_end_what_its_ring_cannot_say", "16384");
  if (IsSkipped() || HasFatalFailure()) return;
  EXPECT_GT(lost_, 0u);
  trace::event_id last{};
  bool exact = false;
  EXPECT_TRUE(snapshot_->for_each<trace::checkpoint_event>([&](const trace::checkpoint_event& row) {
    if (row.id < last) return;
    last = row.id;
    exact = row.exact;
  }));
  EXPECT_TRUE(exact) << "only a pool's blocks were lost, and it has sent them all";
  std::map<std::uint64_t, int> live;
  EXPECT_TRUE(snapshot_->for_each<trace::live_block_event>([&](const trace::live_block_event& row) {
    if (row.checkpoint == last && row.layer == trace::layer::pool) ++live[row.bytes];
  }));
  EXPECT_THAT(live, testing::ElementsAre(testing::Pair(recorded_roles::kept_bytes, 10)));
}

TEST_F(recorded_process, that_has_the_runtime_twice_has_the_pools_and_blocks_of_both) {
  record("has_the_runtime_twice", "1048576");
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
    account& subject = pools[std::string(snapshot_->tables().text(snapshot_->tables().pools.find(row.pool)->name))];
    ++subject.allocated;
    subject.kept.insert(row.bytes);
    blocks[row.block] = &subject;
  }));
  EXPECT_TRUE(snapshot_->for_each<trace::free_event>([&](const trace::free_event& row) {
    if (const auto found = blocks.find(row.block); found != blocks.end()) ++found->second->freed;
  }));
  ASSERT_THAT(pools, testing::SizeIs(2));
  for (const auto& [name, target] : pools) EXPECT_EQ(target.allocated - target.freed, 1) << name;
  EXPECT_EQ(pools["the program's"].allocated, 101);
  EXPECT_EQ(pools["the program's"].kept,
            (std::set<std::uint64_t>{recorded_roles::gone_bytes, recorded_roles::kept_bytes}));
  EXPECT_EQ(pools["libsluice_pool"].allocated, 101);
  EXPECT_EQ(pools["libsluice_pool"].kept,
            (std::set<std::uint64_t>{recorded_roles::gone_bytes, recorded_roles::hit_bytes}));
}

}  // namespace
}  // namespace sluice::runtime
