// Behavior that is specific to memory mode without CUPTI. memory_kinds_test.cpp and touch_test.cpp check that
// memory and touches are the same with and without CUPTI.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "tests/instrumentation/capture/recording.hpp"
#include "tests/instrumentation/sizes.hpp"

namespace sluice::test {
namespace {

using namespace trace;

recording record_at_entry_points(const std::string& method, std::map<std::string, std::string> variables = {}) {
  recording run =
      record_by(route::entry_points,
                {.arguments = {method}, .variables = std::move(variables), .program = "fake_memory_program"});
  EXPECT_EQ(run.status, 0);
  return run;
}

class copies_at_entry_points : public testing::Test {
 protected:
  static void SetUpTestSuite() { run_ = new recording(record_at_entry_points("copies")); }
  static void TearDownTestSuite() { delete run_; }

  static const transfer_event& get_copy(std::uint64_t bytes) {
    static const transfer_event none{};
    const auto found = std::find_if(run_->transfers.begin(), run_->transfers.end(),
                                    [=](const transfer_event& t) { return t.bytes == bytes; });
    EXPECT_NE(found, run_->transfers.end()) << bytes << " bytes";
    return found == run_->transfers.end() ? none : *found;
  }
  static inline recording* run_ = nullptr;
};

TEST_F(copies_at_entry_points, are_all_there) {
  EXPECT_EQ(run_->transfers.size(), 2007U);
  EXPECT_EQ(run_->summary.lost_events, 0U);
}

TEST_F(copies_at_entry_points, go_their_way) {
  EXPECT_EQ(get_copy(1000).direction, direction::h2d);
  EXPECT_EQ(get_copy(1 * mib).direction, direction::h2d);
  EXPECT_EQ(get_copy(2 * mib).direction, direction::d2d);
  EXPECT_EQ(get_copy(3000).direction, direction::d2h);
  EXPECT_EQ(get_copy(4000).direction, direction::h2d) << "a copy between unified addresses";
  EXPECT_EQ(get_copy(6000).direction, direction::h2d) << "an array has no address to query";
}

TEST_F(copies_at_entry_points, know_their_memory) {
  EXPECT_EQ(get_copy(1000).source_kind, memory_kind::host);
  EXPECT_EQ(get_copy(1000).destination_kind, memory_kind::device);
  EXPECT_EQ(get_copy(1 * mib).source_kind, memory_kind::pinned);
  EXPECT_EQ(get_copy(3000).destination_kind, memory_kind::pinned);
  EXPECT_EQ(get_copy(6000).destination_kind, memory_kind::array);
  EXPECT_NE(get_copy(1 * mib).source_block, block_id::none);
  EXPECT_NE(get_copy(2 * mib).destination_block, block_id::none);
}

TEST_F(copies_at_entry_points, have_times_that_are_estimates) {
  for (const std::uint64_t bytes : {std::uint64_t{1000}, 1 * mib, 2 * mib, std::uint64_t{3000}, std::uint64_t{4000}}) {
    const transfer_event& copy = get_copy(bytes);
    EXPECT_EQ(copy.source, provenance::estimated);
    EXPECT_GE(copy.time, copy.enqueued) << bytes;
    EXPECT_GT(copy.end, copy.time) << bytes;
  }
  EXPECT_FALSE(get_copy(1000).asynchronous);
  EXPECT_TRUE(get_copy(1 * mib).asynchronous);
}

TEST_F(copies_at_entry_points, within_the_device_end_when_the_device_has_done_them) {
  EXPECT_FALSE(get_copy(128 * 1024).asynchronous);
  EXPECT_GE(get_copy(128 * 1024).end - get_copy(128 * 1024).time, 500'000) << "cuMemcpyDtoD returns earlier";
}

TEST_F(copies_at_entry_points, are_in_the_order_of_their_stream) {
  EXPECT_GE(get_copy(2 * mib).time, get_copy(1 * mib).time);
  EXPECT_GE(get_copy(3000).time, get_copy(2 * mib).time);
  EXPECT_EQ(get_copy(3000).stream, get_copy(1 * mib).stream);
  EXPECT_NE(get_copy(1000).stream, get_copy(1 * mib).stream);
}

TEST_F(copies_at_entry_points, that_are_many_and_small_are_not_all_timed) {
  const auto inferred = std::count_if(run_->transfers.begin(), run_->transfers.end(),
                                      [](const transfer_event& t) { return t.source == provenance::inferred; });
  EXPECT_GT(inferred, 0) << "unless this machine takes 0.1 ms for a copy";
  EXPECT_LE(inferred, 2000 - 200);
  for (const transfer_event& t : run_->transfers) {
    EXPECT_NE(t.end, unknown_time);
    EXPECT_GT(t.end, t.time);
  }
}

TEST_F(copies_at_entry_points, and_memsets_say_what_they_set) {
  ASSERT_EQ(run_->memsets.size(), 1U);
  EXPECT_EQ(run_->memsets[0].bytes, 5000U);
  EXPECT_EQ(run_->memsets[0].value, 7U);
  EXPECT_NE(run_->memsets[0].block, block_id::none);
  EXPECT_EQ(run_->memsets[0].source, provenance::estimated);
}

TEST_F(copies_at_entry_points, are_all_delivered_before_the_watermark) {
  ASSERT_FALSE(run_->watermarks.empty());
  EXPECT_GE(run_->watermarks.back().time, get_copy(2 * mib).end);
}

TEST(entry_points, are_found_by_whoever_looks_the_driver_up) {
  const recording run = record_at_entry_points("looked_up");
  std::vector<std::uint64_t> sizes;
  for (const alloc_event& a : run.allocs) sizes.push_back(a.bytes);
  EXPECT_THAT(sizes, testing::UnorderedElementsAre(1 * mib, 2 * mib));
}

TEST(entry_points, the_device_is_described_by_the_driver) {
  const recording run = record_at_entry_points("looked_up");
  ASSERT_EQ(run.tables().devices.rows().size(), 1U);
  EXPECT_EQ(run.tables().text(run.tables().devices.rows()[0].name), "Fake GPU");
  EXPECT_GT(run.tables().devices.rows()[0].memory_bytes, 0U);
}

TEST(entry_points, another_profiler_is_not_in_the_way) {
  const recording run = record_at_entry_points("reset", {{"SLUICE_FAKE_RIVAL", "1"}});
  EXPECT_FALSE(run.says("another profiler"));
  EXPECT_EQ(run.allocs.size(), 4U);
}

TEST(entry_points, without_any_cupti_memory_is_recorded) {
  const recording run = record_at_entry_points("reset", {{"SLUICE_CUPTI_PATH", "/nowhere/libcupti.so"}});
  EXPECT_EQ(run.allocs.size(), 4U);
}

TEST(entry_points, are_not_in_the_way_of_a_sanitizer) {
  const run_options program{.arguments = {}, .program = "sanitized_program"};
  if (!std::filesystem::exists(std::filesystem::path(SLUICE_FAKE_DIR) / program.program)) {
    GTEST_SKIP() << "this build has its own sanitizer";
  }
  EXPECT_EQ(run_bare(program), 0);
  EXPECT_EQ(record({.arguments = {}, .mode = "memory", .program = program.program, .preload = true}).status, 0);
}

TEST(entry_points, copies_beside_a_capture_are_timed_where_that_harms_no_capture) {
  const recording run = record_at_entry_points("beside_a_capture");
  std::map<std::uint64_t, provenance> known;
  for (const transfer_event& t : run.transfers) known[t.bytes] = t.source;
  EXPECT_EQ(known,
            (std::map<std::uint64_t, provenance>{
                {1 * mib, provenance::estimated}, {3 * mib, provenance::estimated}, {4 * mib, provenance::inferred}}))
      << "a captured copy has not run yet";
}

/// The recording's warnings about calls that bypass the recorder.
std::vector<std::string> get_reported(const recording& run) {
  std::vector<std::string> reported;
  for (const std::string& text : run.messages) {
    if (text.find("around the recorder") != std::string::npos) reported.push_back(text);
  }
  return reported;
}

TEST(entry_points, have_migrations_of_the_first_managed_memory_too) {
  const recording run = record_at_entry_points("managed");
  ASSERT_EQ(run.migrations.size(), 1U) << "CUPTI does not report memory allocated before it was enabled";
  EXPECT_EQ(run.migrations.front().bytes, 3 * mib);
  EXPECT_EQ(run.migrations.front().direction, direction::h2d);
}

class going_around : public testing::Test {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer's runtime rejects RTLD_DEEPBIND and looks up functions itself";
#endif
  }
};

TEST_F(going_around, a_library_that_finds_the_driver_before_us_is_named) {
  const recording run = record_at_entry_points("around_by_linkage");
  EXPECT_EQ(run.allocs.size(), 1U);
  EXPECT_THAT(get_reported(run),
              testing::ElementsAre(testing::StartsWith(
                  "libfake_around.so calls the driver around the recorder: it has the driver's own cuMemAlloc_v2 (")));
}

TEST_F(going_around, a_library_that_keeps_what_it_has_looked_up_past_us_is_named) {
  const recording run = record_at_entry_points("around_by_variable");
  EXPECT_EQ(run.allocs.size(), 1U);
  EXPECT_THAT(get_reported(run),
              testing::ElementsAre(testing::StartsWith(
                  "libfake_around.so calls the driver around the recorder: it has the driver's own cuMemAlloc_v2 (")));
}

TEST_F(going_around, memory_that_nobody_allocated_is_noticed_when_it_is_freed) {
  const recording run = record_at_entry_points("around_and_back");
  EXPECT_THAT(get_reported(run),
              testing::Contains(testing::HasSubstr("was freed that no recorded call had allocated")));
}

TEST_F(going_around, is_not_said_of_whoever_comes_through_us) {
  for (const char* method : {"looked_up", "copies", "only_failing_frees", "crossed", "reset", "ipc"}) {
    EXPECT_THAT(get_reported(record_at_entry_points(method)), testing::IsEmpty()) << method;
  }
  // This library could bypass the recorder by dlvsym, as CUDA's own libraries could. It does not, so both of its blocks
  // are recorded.
  const recording run = record_at_entry_points("around_not_at_all");
  EXPECT_EQ(run.allocs.size(), 2U);
  EXPECT_THAT(get_reported(run), testing::IsEmpty());
}

TEST(entry_points, are_left_alone_in_wider_modes) {
  const recording run =
      record({.arguments = {"looked_up"}, .mode = "timeline", .program = "fake_memory_program", .preload = true});
  EXPECT_EQ(run.status, 0);
  EXPECT_TRUE(run.says("recorded with CUPTI version"));
  EXPECT_EQ(run.allocs.size(), 2U) << "each once";
}

}  // namespace
}  // namespace sluice::test
