// NVTX: ranges, marks and names from programs and libraries that do not know about Sluice.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/instrumentation/capture/recording.hpp"

namespace sluice::test {
namespace {

using namespace trace;

class nvtx_test : public testing::Test {
 protected:
  static void SetUpTestSuite() { run_ = new recording(record({.arguments = {"cuda"}, .program = "nvtx_program"})); }
  static void TearDownTestSuite() { delete run_; }

  static std::string text(string_id id) { return std::string(run_->tables().text(id)); }
  static std::vector<host_range_event> named(const std::string& name) {
    std::vector<host_range_event> found;
    std::copy_if(run_->ranges.begin(), run_->ranges.end(), std::back_inserter(found),
                 [&](const host_range_event& r) { return text(r.name) == name; });
    return found;
  }
  static host_range_event one(const std::string& name) {
    const auto found = named(name);
    EXPECT_EQ(found.size(), 1U) << name;
    return found.empty() ? host_range_event{} : found[0];
  }

  static recording* run_;
};
recording* nvtx_test::run_ = nullptr;

TEST_F(nvtx_test, a_program_ends_as_it_would_alone) {
  EXPECT_EQ(run_->status, 0);
  EXPECT_EQ(run_bare({.arguments = {"cuda"}, .program = "nvtx_program"}), 0);
}

TEST_F(nvtx_test, ranges_nest) {
  const auto outer = one("outer");
  const auto inner = one("inn\u00e9r \U0001F600");
  EXPECT_LE(outer.time, inner.time);
  EXPECT_LE(inner.time, inner.end);
  EXPECT_LE(inner.end, outer.end);
  EXPECT_EQ(outer.thread, inner.thread);
  EXPECT_EQ(outer.domain, string_id::none);
}

TEST_F(nvtx_test, a_started_range_ends_on_any_thread) {
  const auto across = one("across threads");
  EXPECT_EQ(across.thread, one("outer").thread);
  EXPECT_GT(across.end, across.time);
}

TEST_F(nvtx_test, domains_have_stacks_of_their_own) {
  const auto library = one("registered");
  const auto own = one("default domain");
  EXPECT_EQ(text(library.domain), "library");
  EXPECT_LE(own.time, library.time);
  EXPECT_LE(own.end, library.end) << "it was popped first";
  EXPECT_EQ(text(one("plain").domain), "library");
}

TEST_F(nvtx_test, what_never_ends_has_no_end) {
  EXPECT_EQ(one("never popped").end, unknown_time);
  EXPECT_EQ(one("never ended").end, unknown_time);
  EXPECT_NE(one("answer").end, unknown_time);
  EXPECT_EQ(run_->ranges.size(), 9U) << "a pop without a range, and the end of an unknown range, are ignored";
}

TEST_F(nvtx_test, ranges_that_end_with_a_payload_end) {
  const recording run = record({.arguments = {"payloads"}, .program = "nvtx_program"});
  EXPECT_EQ(run.status, 0);
  if (run.ranges.empty()) GTEST_SKIP() << "skipped: these NVTX headers have no payloads";
  ASSERT_EQ(run.ranges.size(), 3U) << "ordered by their ends";
  for (const host_range_event& each : run.ranges) {
    EXPECT_NE(each.end, unknown_time) << run.tables().text(each.name);
    EXPECT_EQ(run.tables().text(each.domain), "NCCL");
  }
  EXPECT_EQ(run.tables().text(run.ranges[1].name), "ncclCommInitRankConfig");
}

TEST_F(nvtx_test, marks_are_no_steps) {
  std::vector<std::string> names;
  for (const marker_event& m : run_->markers) {
    names.push_back(text(m.name));
    EXPECT_EQ(m.step, -1);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"mark", "registered", ""}));
}

TEST_F(nvtx_test, threads_and_streams_have_the_names_that_the_program_gave_them) {
  const auto& threads = run_->tables().threads.rows();
  EXPECT_TRUE(
      std::any_of(threads.begin(), threads.end(), [](const auto& t) { return text(t.name) == "the main one"; }));
  const auto& streams = run_->tables().streams.rows();
  EXPECT_TRUE(std::any_of(streams.begin(), streams.end(), [](const auto& s) { return text(s.name) == "copies"; }));
}

TEST(nvtx_without_cuda, is_recorded) {
  const recording run = record({.arguments = {}, .program = "nvtx_program"});
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.ranges.size(), 9U);
  EXPECT_EQ(run.tables().processes.rows().size(), 1U);
}

// Ranges are only part of timelines: in other modes, NVTX calls must have no extra cost.
TEST(nvtx_in_memory_mode, is_left_alone) {
  const recording run = record({.arguments = {}, .mode = "memory", .program = "nvtx_program"});
  EXPECT_EQ(run.status, 0);
  EXPECT_TRUE(run.ranges.empty());
}

}  // namespace
}  // namespace sluice::test
