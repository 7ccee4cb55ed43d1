// The recorder does not disturb the program: whatever the driver, CUPTI or the program does, the program ends as it
// would without a recorder, and the file opens and has every call.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "tests/instrumentation/capture/journal_reader.hpp"
#include "tests/instrumentation/capture/recording.hpp"
#include "tests/programs.hpp"

namespace sluice::test {
namespace {

using namespace trace;

class hostile_order : public testing::TestWithParam<std::string> {};

TEST_P(hostile_order, leaves_a_file_that_opens) {
  const run_options options{.arguments = {"program", "--hostile", GetParam(), "--status", "7"}};
  const recording run = record(options);
  EXPECT_EQ(run.status, run_bare(options));
  EXPECT_EQ(run.status, 7);
  ASSERT_NE(run.snapshot, nullptr);
  EXPECT_TRUE(run.snapshot->complete());
  EXPECT_TRUE(run.snapshot->warnings().empty()) << run.snapshot->warnings()[0];
}

INSTANTIATE_TEST_SUITE_P(journal, hostile_order,
                         testing::Values("frees-first", "records-first", "records-last", "zero-times", "backward-times",
                                         "unknown-kinds", "no-entries", "no-exits", "null-pointers", "cut-records",
                                         "doubled"),
                         [](const auto& p) {
                           std::string name = p.param;
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

TEST(hostile_cupti, hands_back_buffers_that_are_none) {
  const recording run = record({.arguments = {"program"}, .variables = {{"SLUICE_FAKE_NULL_BUFFERS", "1"}}});
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.transfers.size(), 12U);
}

TEST(hostile_cupti, claims_more_bytes_than_the_buffer_has) {
  const recording run = record({.arguments = {"program"}, .variables = {{"SLUICE_FAKE_OVERSTATE", "1"}}});
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.transfers.size(), 12U);
}

TEST(hostile_cupti, is_too_old) {
  const recording run = record({.arguments = {"program"}, .variables = {{"SLUICE_FAKE_CUPTI_VERSION", "17"}}});
  EXPECT_EQ(run.status, 0);
  EXPECT_TRUE(run.says("older than CUDA 12.0"));
  EXPECT_TRUE(run.allocs.empty());
}

TEST(rival, holding_cupti_is_reported) {
  const recording run = record({.arguments = {"program"}, .variables = {{"SLUICE_FAKE_RIVAL", "1"}}});
  EXPECT_EQ(run.status, 0);
  EXPECT_TRUE(run.says("another profiler holds CUPTI"));
}

TEST(rival, taking_the_records_is_reported_and_calls_are_still_recorded) {
  const recording run = record({.arguments = {"program"}, .variables = {{"SLUICE_FAKE_STEAL_RECORDS", "1"}}});
  EXPECT_EQ(run.status, 0);
  EXPECT_TRUE(run.says("taken over CUPTI's activity records"));
  EXPECT_TRUE(run.transfers.empty());
  EXPECT_EQ(run.failed.size(), 1U);
  EXPECT_GT(run.allocs.size(), 40U);
}

/// The number of allocations in the first `share` of a journal's entries that CUPTI reports to the capture library.
std::size_t allocations_until(const std::string& name, double share) {
  const journal::journal j = journal::read(journal_path(name));
  std::size_t count = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(static_cast<double>(j.entries.size()) * share); ++i) {
    const auto* call = std::get_if<journal::api_edge>(&j.entries[i]);
    if (call != nullptr && call->cbid == 243 /* cuMemAlloc_v2 */ && call->site == 1 && call->result == 0) ++count;
  }
  return count;
}

class rival_inside : public testing::Test {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer's runtime must itself be preloaded first";
#endif
  }
  /// Records a program that replays the journal once alone, once beside the rival, and once after it. The capture
  /// library is preloaded, as by `sluice record`.
  static recording beside(const std::string& method) {
    return record({.arguments = {"torch", "--rival", method},
                   .variables = {{"LD_PRELOAD", SLUICE_BINARY_DIR "/libsluice_capture.so"}}});
  }
  static constexpr std::size_t kernels_each = 192;
};

TEST_F(rival_inside, that_is_refused_is_named_and_the_recording_is_complete) {
  const recording run = beside("subscribe");
  EXPECT_EQ(run.status, 0);
  EXPECT_TRUE(run.says("another profiler (libfake_rival.so) asked for CUPTI"));
  EXPECT_EQ(run.kernels.size(), 3 * kernels_each);
  EXPECT_TRUE(run.losses.empty());
}

TEST_F(rival_inside, that_takes_the_records_is_named_and_what_is_missing_is_said) {
  const recording run = beside("records");
  EXPECT_EQ(run.status, 0);
  EXPECT_TRUE(run.says("another profiler (libfake_rival.so) has taken over CUPTI's activity records"));
  EXPECT_TRUE(run.says("the other profiler has stopped, and device times are recorded again"));
  // The rival receives the part during which it runs; the recorder has the parts before and after it.
  EXPECT_EQ(run.kernels.size(), 2 * kernels_each);
  std::size_t device = 0;
  for (const alloc_event& a : run.allocs) device += a.kind == memory_kind::device ? 1 : 0;
  EXPECT_EQ(device, 3 * allocations_until("torch", 1.0)) << "callbacks continue";
  ASSERT_EQ(run.losses.size(), 1U);
  EXPECT_GT(run.losses[0].events, kernels_each);
  EXPECT_EQ(run.losses[0].memory_events, 0U);
  std::size_t within = 0;
  for (const api_call_event& c : run.calls)
    within += c.time >= run.losses[0].time && c.time <= run.losses[0].end ? 1 : 0;
  EXPECT_GE(within, run.losses[0].events) << "the span holds the calls whose work has no times";
}

TEST_F(rival_inside, that_shuts_cupti_down_is_named_and_we_attach_again) {
  const recording run = beside("finalize");
  EXPECT_EQ(run.status, 0);
  EXPECT_TRUE(run.says("has shut CUPTI down for the whole process"));
  EXPECT_EQ(run.kernels.size(), 2 * kernels_each);
  ASSERT_FALSE(run.losses.empty());
  EXPECT_TRUE(std::any_of(run.losses.begin(), run.losses.end(), [](const loss_event& l) {
    return l.memory_events != 0;
  })) << "allocations in between are unknown";
}

TEST(rival, is_named_at_the_end_of_sluice_record) {
  const std::string fakes = SLUICE_FAKE_DIR;
  const std::string file = testing::TempDir() + "/rival-" + std::to_string(getpid()) + ".sluice";
  const std::string command = "LD_LIBRARY_PATH=" + fakes + " SLUICE_CUPTI_PATH=" + fakes +
                              "/libcupti.so SLUICE_FAKE_RIVAL=1 " +
                              SLUICE_BINARY_DIR "/sluice record --mode timeline -o " + file + " -- " + fakes +
                              "/fake_cuda_program " + journal_path("program") + " --status 3 2>&1";
  const auto [status, said, errors] = run_shell(command);
  EXPECT_EQ(status, 3);
  EXPECT_NE(said.find("warning: another profiler holds CUPTI in this process (Fake Systems)"), std::string::npos)
      << said;
  std::filesystem::remove(file);
}

TEST(guest, without_cuda_is_left_alone) {
  const recording run = record({.arguments = {"--nothing", "--status", "9"}});
  EXPECT_EQ(run.status, 9);
  EXPECT_TRUE(run.allocs.empty());
}

TEST(guest, without_a_cupti_runs_and_says_so) {
  const recording run =
      record({.arguments = {"program"}, .variables = {{"SLUICE_CUPTI_PATH", "/nowhere/libcupti.so"}}});
  EXPECT_EQ(run.status, 0);
  EXPECT_TRUE(run.says("no libcupti was found"));
}

class ending : public testing::TestWithParam<std::pair<const char*, int>> {};

// Also with kill -9, because everything that callbacks report is in the rings before they return.
TEST_P(ending, keeps_every_call_and_the_status) {
  const auto [method, status] = GetParam();
  const run_options options{.arguments = {"torch", "--until", "0.7", "--end", method, "--status", "5"}};
  const recording run = record(options);
  EXPECT_EQ(run.status, status);
  EXPECT_EQ(run_bare(options), status);
  std::size_t device = 0;
  for (const alloc_event& a : run.allocs) device += a.kind == memory_kind::device ? 1 : 0;
  EXPECT_EQ(device, allocations_until("torch", 0.7));
  EXPECT_GT(device, 3U);
}

INSTANTIATE_TEST_SUITE_P(in_the_middle, ending,
                         testing::Values(std::pair{"exit", 5}, std::pair{"_exit", 5}, std::pair{"abort", 128 + SIGABRT},
                                         std::pair{"kill", 128 + SIGKILL}, std::pair{"segv", 128 + SIGSEGV}),
                         [](const auto& p) {
                           const std::string name = p.param.first;
                           return name == "_exit" ? "at_once" : name;
                         });

TEST(fork, the_child_is_a_process_of_its_own) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "the thread sanitizer does not support threads started after fork";
#endif
  const recording run = record({.arguments = {"torch", "--fork"}});
  EXPECT_EQ(run.status, 0);
  std::map<process_id, std::size_t> allocations;
  for (const alloc_event& a : run.allocs) {
    if (a.kind == memory_kind::device) ++allocations[a.process];
  }
  ASSERT_EQ(allocations.size(), 2U);
  for (const auto& [process, count] : allocations) EXPECT_EQ(count, allocations_until("torch", 1.0));
}

TEST(kill, at_any_moment_keeps_every_call) {
  for (int twentieth = 1; twentieth <= 20; ++twentieth) {
    const double share = twentieth / 20.0;
    const recording run = record({.arguments = {"torch", "--until", std::to_string(share), "--end", "kill"}});
    EXPECT_EQ(run.status, 128 + SIGKILL);
    std::size_t device = 0;
    for (const alloc_event& a : run.allocs) device += a.kind == memory_kind::device ? 1 : 0;
    EXPECT_EQ(device, allocations_until("torch", share)) << "after " << share << " of the journal";
  }
}

// SLUICE_KILL_RUNS sets the number of runs, at moments spread over the journal: `./dev kill-test` uses 1,000.
TEST(kill, a_campaign_loses_nothing) {
  const char* asked = std::getenv("SLUICE_KILL_RUNS");
  const int runs = asked == nullptr ? 40 : std::atoi(asked);
  for (int run = 0; run < runs; ++run) {
    // Golden-ratio steps spread any number of runs evenly.
    const double share = std::fmod(0.5 + run * 0.6180339887498949, 1.0);
    const char* method = run % 3 == 0 ? "kill" : run % 3 == 1 ? "abort" : "segv";
    const recording killed = record({.arguments = {"torch", "--until", std::to_string(share), "--end", method}});
    EXPECT_GE(killed.status, 128);
    ASSERT_NE(killed.snapshot, nullptr);
    EXPECT_TRUE(killed.snapshot->warnings().empty());
    std::size_t device = 0;
    for (const alloc_event& a : killed.allocs) device += a.kind == memory_kind::device ? 1 : 0;
    ASSERT_EQ(device, allocations_until("torch", share)) << method << " after " << share << " of the journal";
  }
}

// A timer chooses the moment of the kill, which is in the middle of whatever the recorder is doing.
TEST(kill, from_outside_leaves_a_file_that_opens) {
  for (int run = 0; run < 10; ++run) {
    const recording killed =
        record({.arguments = {"torch", "--repeat", "1000", "--kill-after", std::to_string(3000 + run * 7919)}});
    EXPECT_EQ(killed.status, 128 + SIGKILL);
    ASSERT_NE(killed.snapshot, nullptr);
    EXPECT_TRUE(killed.snapshot->complete());
    EXPECT_TRUE(killed.snapshot->warnings().empty());
    // The recorded events have no gap before the end.
    for (const alloc_event& a : killed.allocs) EXPECT_NE(a.block, block_id::none);
  }
}

TEST(unload, the_library_stays_whatever_the_program_closes) {
  const recording run = record({.arguments = {"torch", "--dlclose", "--repeat", "2"}});
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.kernels.size(), 2U * 192U);
}

TEST(threads, that_end_while_they_are_recorded_lose_nothing) {
  const recording run = record({.arguments = {"program", "--repeat", "30"}});
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.summary.lost_events, 0U);
  EXPECT_EQ(run.transfers.size(), 30U * 12U);
}

TEST(exec, the_next_program_is_recorded_too) {
  const recording run = record({.arguments = {"torch", "--end", "exec"}});
  EXPECT_EQ(run.status, 0);
  // exec ends the first program like kill: its calls are recorded, but its last device times are missing.
  EXPECT_EQ(std::count_if(run.allocs.begin(), run.allocs.end(),
                          [](const alloc_event& a) { return a.kind == memory_kind::device; }),
            static_cast<std::ptrdiff_t>(2 * allocations_until("torch", 1.0)));
}

TEST(signals, reach_the_programs_own_threads_only) {
  const recording run = record({.arguments = {"torch", "--repeat", "20", "--signals"}});
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.kernels.size(), 20U * 192U);
}

TEST(destructors, of_static_objects_are_recorded) {
  const recording run = record({.arguments = {"torch", "--late-free", "--status", "6"}});
  EXPECT_EQ(run.status, 6);
  const auto late = std::find_if(run.allocs.begin(), run.allocs.end(),
                                 [](const alloc_event& a) { return a.kind == memory_kind::device && a.bytes == 4096; });
  ASSERT_NE(late, run.allocs.end());
  EXPECT_TRUE(
      std::any_of(run.frees.begin(), run.frees.end(), [&](const free_event& f) { return f.block == late->block; }));
}

TEST(load, many_passes_lose_nothing) {
  const recording run = record({.arguments = {"torch", "--repeat", "200"}});
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.summary.lost_events, 0U);
  EXPECT_EQ(run.kernels.size(), 200U * 192U);
}

}  // namespace
}  // namespace sluice::test
