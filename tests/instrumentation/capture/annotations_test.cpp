// Annotations that a program makes through sluice.h and sluice.py: recorded under a recorder, without effect otherwise.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "tests/instrumentation/capture/recording.hpp"

namespace sluice::test {
namespace {

using namespace trace;

std::string text(const recording& run, string_id id) { return std::string(run.tables().text(id)); }

const host_range_event* range_named(const recording& run, const std::string& name) {
  for (const host_range_event& r : run.ranges) {
    if (text(run, r.name) == name) return &r;
  }
  return nullptr;
}

/// The tags, by key, of the block at `address`.
std::map<std::string, std::string> get_tags(const recording& run, std::uint64_t address) {
  std::map<std::string, std::string> tags;
  for (const alloc_event& a : run.allocs) {
    for (const attribute_event& t : run.attributes) {
      if (a.address == address && t.target == a.id) tags[text(run, t.key)] = text(run, t.text);
    }
  }
  return tags;
}

recording record_c(const std::string& method) {
  return record({.arguments = {method}, .program = "annotated_program", .preload = true});
}

TEST(sluice_header, is_of_no_effect_without_a_recorder) {
  EXPECT_EQ(run_bare({.arguments = {"exit"}, .program = "annotated_program"}), 9) << "sluice_recording() is 0";
}

TEST(sluice_header, steps_and_marks_are_markers) {
  const recording run = record_c("exit");
  EXPECT_EQ(run.status, 0);
  std::map<std::int64_t, std::string> markers;
  for (const marker_event& m : run.markers) markers[m.step] = text(run, m.name);
  EXPECT_EQ(markers, (std::map<std::int64_t, std::string>{{-1, "halfway"}, {0, "step"}, {1, "step"}}));
}

TEST(sluice_header, scopes_nest_by_thread) {
  const recording run = record_c("exit");
  const host_range_event* outer = range_named(run, "outer");
  const host_range_event* inner = range_named(run, "inner");
  const host_range_event* other = range_named(run, "other thread");
  ASSERT_TRUE(outer != nullptr && inner != nullptr && other != nullptr);
  EXPECT_LE(outer->time, inner->time);
  EXPECT_LE(inner->end, outer->end);
  EXPECT_LE(inner->time, inner->end);
  EXPECT_EQ(inner->thread, outer->thread);
  EXPECT_NE(other->thread, outer->thread);
  EXPECT_GE(other->time, inner->time);
  EXPECT_LE(other->end, inner->end);
}

TEST(sluice_header, a_scope_that_never_ends_is_there_with_an_unknown_end) {
  for (const std::string method : {"exit", "kill"}) {
    const recording run = record_c(method);
    EXPECT_EQ(run.status, method == "kill" ? 7 : 0);
    ASSERT_NE(range_named(run, "never ended"), nullptr) << method;
    EXPECT_EQ(range_named(run, "never ended")->end, unknown_time);
    EXPECT_EQ(run.ranges.size(), 4U) << "an end without a start is ignored";
  }
}

TEST(sluice_header, blocks_of_the_programs_own_pool_and_their_tags) {
  const recording run = record_c("exit");
  ASSERT_EQ(run.allocs.size(), 1U);
  const alloc_event& block = run.allocs[0];
  EXPECT_EQ(block.layer, layer::framework);
  EXPECT_EQ(block.bytes, 32768U);
  EXPECT_EQ(text(run, block.name), "my pool");
  ASSERT_EQ(run.frees.size(), 1U);
  EXPECT_EQ(run.frees[0].block, block.block);
  EXPECT_EQ(get_tags(run, block.address),
            (std::map<std::string, std::string>{{"category", "weight"}, {"name", "layer1.weight"}}));
  EXPECT_EQ(run.attributes.size(), 2U) << "a tag without a block is ignored";
}

TEST(sluice_pause, leaves_work_out_and_memory_in) {
  const recording run = record({.arguments = {}, .program = "paused_program", .preload = true});
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.allocs.size(), 4U);
  EXPECT_EQ(run.frees.size(), 1U);
  EXPECT_EQ(run.transfers.size(), 2U) << "one before the pause and one after it";
  EXPECT_EQ(run.memsets.size(), 2U);
  for (const transfer_event& t : run.transfers) EXPECT_NE(t.call, event_id::none);
  std::vector<std::string> marks;
  for (const marker_event& m : run.markers) marks.push_back(text(run, m.name));
  EXPECT_EQ(marks, (std::vector<std::string>{"recording paused", "recording resumed"}));
}

TEST(sluice_pause_sampling, leaves_samples_out_and_all_else_in) {
  const recording run =
      record({.arguments = {"sampling"}, .program = "paused_program", .sampling_hz = 500, .preload = true});
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.transfers.size(), 3U);
  EXPECT_EQ(run.memsets.size(), 3U);
  std::vector<std::string> marks;
  for (const marker_event& m : run.markers) marks.push_back(text(run, m.name));
  ASSERT_EQ(marks, (std::vector<std::string>{"sampling paused", "sampling resumed"}));
  constexpr time_ns delay = 200'000'000;
  const time_ns paused = run.markers[0].time + delay, resumed = run.markers[1].time;
  std::size_t before = 0, after = 0;
  for (const host_sample_event& each : run.host_samples) {
    EXPECT_TRUE(each.time + each.length <= paused || each.time >= resumed);
    ++(each.time < paused ? before : after);
  }
  EXPECT_GT(before, 10U);
  EXPECT_GT(after, 10U);
}

/// Fixture for tests that need the machine's python3. Skips the tests if there is none.
class sluice_module : public testing::Test {
 protected:
  void SetUp() override {
    if (std::string(SLUICE_PYTHON).empty()) GTEST_SKIP() << "no python3 on this machine";
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "python3 is not built with the sanitizer";
#endif
  }
  static run_options options(const std::string& word) {
    return {.arguments = {SLUICE_SOURCE_DIR "/tests/instrumentation/capture/fake/annotated.py", word},
            .variables = {{"PYTHONPATH", SLUICE_BINARY_DIR "/python"}, {"PYTHONDONTWRITEBYTECODE", "1"}},
            .program = SLUICE_PYTHON,
            .preload = true};
  }
};

TEST_F(sluice_module, is_of_no_effect_without_a_recorder) { EXPECT_EQ(run_bare(options("bare")), 0); }

TEST_F(sluice_module, steps_and_scopes) {
  const recording run = record(options("recorded"));
  EXPECT_EQ(run.status, 0);
  std::set<std::int64_t> steps;
  for (const marker_event& m : run.markers) steps.insert(m.step);
  EXPECT_EQ(steps, (std::set<std::int64_t>{0, 1, 2}));
  EXPECT_EQ(run.ranges.size(), 3U);
  ASSERT_NE(range_named(run, "forward"), nullptr);
}

TEST_F(sluice_module, tags_a_models_weights_gradients_and_optimizer_state) {
  const recording run = record(options("recorded"));
  using tags = std::map<std::string, std::string>;
  EXPECT_EQ(get_tags(run, 0x10000), (tags{{"category", "weight"}, {"name", "weight"}}));
  EXPECT_EQ(get_tags(run, 0x20000)["category"], "weight");
  EXPECT_EQ(get_tags(run, 0x20000)["name"], "running mean") << "the later name applies";
  EXPECT_EQ(get_tags(run, 0x30000), (tags{{"category", "gradient"}, {"name", "weight"}}));
  EXPECT_EQ(get_tags(run, 0x40000), (tags{{"category", "optimizer state"}, {"name", "weight.exp_avg"}}));
  EXPECT_EQ(run.frees.size(), 1U);
}

TEST_F(sluice_module, blocks_of_the_watched_pools_of_cupy_and_rmm) {
  run_options options = sluice_module::options("");
  options.arguments = {SLUICE_SOURCE_DIR "/tests/instrumentation/capture/fake/pools.py"};
  const recording run = record(options);
  EXPECT_EQ(run.status, 0);
  std::multiset<std::pair<std::string, std::uint64_t>> blocks;
  for (const alloc_event& a : run.allocs) blocks.emplace(text(run, a.name), a.bytes);
  EXPECT_EQ(blocks, (decltype(blocks){{"CuPy", 512}, {"RMM", 1000}, {"RMM", 2000}}));
  EXPECT_EQ(run.frees.size(), 2U);
  EXPECT_EQ(run_bare(options), 0) << "without a recorder nothing is wrapped";
}

TEST_F(sluice_module, ranges_say_what_the_host_does_while_a_gpu_may_be_idle) {
  run_options options = sluice_module::options("");
  options.arguments = {SLUICE_SOURCE_DIR "/tests/instrumentation/capture/fake/idle_causes.py", "connected"};
  options.variables["SLUICE_SAMPLING"] = "0";  // On a busy machine, the thread that samples would delay the batches.
  const recording run = record(options);
  EXPECT_EQ(run.status, 0);
  std::map<std::string, int> counts;
  for (const host_range_event& each : run.ranges) {
    ++counts[text(run, each.name)];
    EXPECT_GE(each.end - each.time, 100'000) << text(run, each.name);
  }
  EXPECT_GE(counts["next batch of the DataLoader"], 2);
  EXPECT_LT(counts["next batch of the DataLoader"], 50) << "100 other batches arrive immediately";
  EXPECT_EQ(counts["torch.compile"], 1);
  EXPECT_GE(counts["garbage collection"], 1);
  EXPECT_LT(counts["garbage collection"], 50) << "100 other collections take no time";
}

TEST_F(sluice_module, ranges_of_idle_causes_change_nothing_for_the_program) {
  run_options options = sluice_module::options("");
  options.arguments = {SLUICE_SOURCE_DIR "/tests/instrumentation/capture/fake/idle_causes.py", "alone"};
  EXPECT_EQ(run_bare(options), 0);
  const recording run = record(options);
  EXPECT_EQ(run.status, 0);
  EXPECT_TRUE(run.tables().processes.rows().empty()) << "a process that does nothing else is not recorded";
}

TEST_F(sluice_module, ranges_say_for_what_the_threads_of_a_program_wait) {
  run_options options = sluice_module::options("");
  options.arguments = {SLUICE_SOURCE_DIR "/tests/instrumentation/capture/fake/waits.py"};
  EXPECT_EQ(run_bare(options), 0);
  const recording run = record(options);
  EXPECT_EQ(run.status, 0);
  std::map<std::string, time_ns> waited;
  for (const host_range_event& each : run.ranges) {
    EXPECT_GE(each.end - each.time, 100'000) << text(run, each.name);
    waited[text(run, each.name)] += each.end - each.time;
  }
  EXPECT_GE(waited["waiting for a lock"], 100'000'000) << "at least 30 ms each: lock, event, queue, thread join";
  EXPECT_GE(waited["waiting for Python's GIL"], 5'000'000);
  EXPECT_EQ(run.tables().threads.rows().size(), 1U) << "the other threads recorded nothing";
}

TEST_F(sluice_module, waits_are_left_out_in_memory_mode) {
  run_options options = sluice_module::options("");
  options.arguments = {SLUICE_SOURCE_DIR "/tests/instrumentation/capture/fake/waits.py"};
  options.mode = "memory";
  const recording run = record(options);
  EXPECT_EQ(run.status, 0);
  EXPECT_TRUE(run.ranges.empty());
}

/// A sitecustomize in a temporary folder stands in for the machine's own.
TEST_F(sluice_module, the_machines_sitecustomize_runs_nevertheless) {
  const std::string folder = testing::TempDir() + "/sitecustomize-" + std::to_string(getpid());
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/sitecustomize.py") << "import sys\nsys.of_the_machine = 5\n";
  run_options options = sluice_module::options("");
  options.arguments = {"-c",
                       "import sitecustomize, sys; sys.exit(sys.of_the_machine + hasattr(sitecustomize, '_after'))"};
  options.variables["PYTHONPATH"] += ":" + folder;
  EXPECT_EQ(run_bare(options), 5);
  std::filesystem::remove_all(folder);
}

/// Fixture with a folder that contains another package named sluice, as pip might have installed it.
class other_sluice : public sluice_module {
 protected:
  void SetUp() override {
    sluice_module::SetUp();
    std::filesystem::create_directories(folder_);
    std::ofstream(folder_ + "/sluice.py") << "\"\"\"Water.\"\"\"\nGATES = 3\n";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  const std::string folder_ = testing::TempDir() + "/other-sluice-" + std::to_string(getpid());
};

TEST_F(other_sluice, is_the_one_that_a_program_means) {
  run_options options = sluice_module::options("recorded");
  options.arguments = {"-c", "import sluice, sys; sys.exit(sluice.GATES)"};
  options.variables["PYTHONPATH"] += ":" + folder_;  // Stands in for site-packages, which also comes later.
  EXPECT_EQ(record(options).status, 3);
}

TEST_F(other_sluice, is_not_a_copy_of_ours) {
  std::filesystem::copy_file(SLUICE_BINARY_DIR "/python/sluice.py", folder_ + "/sluice.py",
                             std::filesystem::copy_options::overwrite_existing);
  run_options options = sluice_module::options("recorded");
  options.variables["PYTHONPATH"] += ":" + folder_;
  EXPECT_EQ(record(options).status, 0);
}

}  // namespace
}  // namespace sluice::test
