#include "core/metrics/findings/reserved/reserved_replays.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/metrics/make_report.hpp"
#include "core/metrics/report/report.hpp"
#include "core/metrics/verdict/finding_title.hpp"
#include "core/replay/replay.hpp"
#include "tests/core/metrics/reports.hpp"
#include "tests/core/recordings/replayed_program.hpp"

namespace sluice::metrics {
namespace {

using testing::build_report;
using testing::gib;
using ::testing::HasSubstr;
using testing::mib;
using testing::recording;
using testing::replayed_program;

TEST(reserved_replays, say_what_other_settings_would_have_reserved) {
  recording recorded;
  replayed_program program(recorded);
  testing::grow_slowly(program, 30);
  const report whole_report = build_report(recorded);
  ASSERT_EQ(whole_report.waste.replays.size(), 1U);
  const reserved_replay& replay = whole_report.waste.replays[0];
  EXPECT_EQ(replay.peak_reserved, program.allocator().peak);
  ASSERT_EQ(replay.policies.size(), 3U);
  EXPECT_EQ(replay.policies[0].policy, "expandable_segments:True");
  EXPECT_LT(replay.policies[0].peak_reserved, 400 * mib);
  EXPECT_GT(replay.peak_reserved, 2 * gib);
}

TEST(reserved_replays, need_reserved_memory_that_is_not_used) {
  recording recorded;
  replayed_program program(recorded);
  for (int step = 0; step < 20; ++step) {
    std::vector<std::uint32_t> blocks;
    for (int i = 0; i < 5; ++i) blocks.push_back(program.allocate(40 * mib));
    for (const std::uint32_t each : blocks) program.free(each);
  }
  const report whole_report = build_report(recorded);
  ASSERT_EQ(whole_report.waste.caches.size(), 1U);
  EXPECT_TRUE(whole_report.waste.replays.empty()) << "all reserved memory is in use at the peak";
}

TEST(reserved_replays, are_not_made_for_a_part_of_the_recording) {
  recording recorded;
  replayed_program program(recorded);
  testing::grow_slowly(program, 30);
  recorded.close();
  const testing::indexed loaded(recorded.open());
  EXPECT_TRUE(compute_metrics(loaded.index, *loaded.snapshot, time_range{1000, 200'000}).waste.replays.empty());
  EXPECT_FALSE(compute_metrics(loaded.index, *loaded.snapshot).waste.replays.empty());
}

TEST(reserved_replays, give_a_fragmentation_its_saving_with_a_range) {
  recording recorded;
  replayed_program program(recorded);
  testing::grow_slowly(program, 30);
  const report whole_report = build_report(recorded);
  const finding* found = testing::find(whole_report, finding_kind::fragmentation);
  ASSERT_NE(found, nullptr);
  const reserved_replay& replay = whole_report.waste.replays.at(0);
  EXPECT_THAT(found->advice, HasSubstr("PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"));
  EXPECT_EQ(found->saves.basis, saving_basis::modelled);
  EXPECT_EQ(found->saves.reserved_bytes, replay.peak_reserved - replay.policies[0].peak_reserved);
  EXPECT_EQ(found->saves.bytes_error, replay.policies[0].peak_reserved / 10);
  EXPECT_EQ(found->severity, trace::severity::warning);
  EXPECT_EQ(get_certainty(found->saves), "replayed");
}

/// There are holes of 20 MiB between blocks that stay, and then blocks of 22 MiB, which fit into the holes with no
/// setting.
TEST(reserved_replays, advise_no_setting_that_wins_too_little) {
  recording recorded;
  replayed_program program(recorded);
  std::vector<std::uint32_t> values;
  for (int i = 0; i < 64; ++i) values.push_back(program.allocate(20 * mib));
  for (std::size_t i = 0; i < values.size(); i += 2) program.free(values[i]);
  for (int i = 0; i < 40; ++i) (void)program.allocate(22 * mib);
  const report reported = build_report(recorded);
  ASSERT_EQ(reported.waste.replays.size(), 1U);
  ASSERT_EQ(reported.waste.replays[0].policies.size(), 3U);
  const finding* found = testing::find(reported, finding_kind::fragmentation);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->saves.basis, saving_basis::none);
  EXPECT_EQ(found->severity, trace::severity::info);
  EXPECT_THAT(found->advice, HasSubstr("No other setting of PyTorch's allocator helps"));
}

TEST(reserved_replays, count_the_retries_that_a_setting_ends) {
  recording recorded;
  replayed_program program(recorded, 700 * mib);
  for (int step = 0; step < 12; ++step) {
    const std::uint32_t block = program.allocate((200 + 10 * static_cast<std::uint64_t>(step)) * mib);
    program.free(block);
  }
  ASSERT_GE(program.allocator().retries, 2U);
  const report whole_report = build_report(recorded);
  ASSERT_EQ(whole_report.waste.replays.size(), 1U);
  EXPECT_EQ(whole_report.waste.replays[0].retries, program.allocator().retries);
  EXPECT_EQ(whole_report.waste.replays[0].policies.at(0).retries, 0U) << "expandable segments grow";
}

TEST(reserved_replays, say_what_stays_reserved_if_the_cache_is_emptied_after_the_peak) {
  recording recorded;
  replayed_program program(recorded);
  const std::uint32_t kept = program.allocate(60 * mib);
  for (int i = 0; i < 20; ++i) {
    const std::uint32_t block = program.allocate(gib);
    program.free(block);
  }
  for (int i = 0; i < 200; ++i) program.free(program.allocate(30 * mib));
  program.free(kept);
  const report whole_report = build_report(recorded);
  const finding* found = testing::find(whole_report, finding_kind::cached_unused);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(whole_report.waste.replays.at(0).late_reserved, gib + 90 * mib - 30 * mib)
      << "1 GiB and 60 MiB: 30 fit into 1024";
  EXPECT_EQ(whole_report.waste.replays.at(0).late_emptied, 90 * mib);
  EXPECT_EQ(found->saves.reserved_bytes, gib - 30 * mib);
  EXPECT_EQ(found->saves.basis, saving_basis::modelled);
  EXPECT_THAT(found->advice, HasSubstr("torch.cuda.empty_cache()"));
}

}  // namespace
}  // namespace sluice::metrics
