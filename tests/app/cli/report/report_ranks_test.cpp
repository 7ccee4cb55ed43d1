#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "app/cli/report/report_output.hpp"
#include "core/metrics/make_report.hpp"
#include "tests/core/recordings/recording.hpp"

namespace sluice::cli {
namespace {

using testing::gib;
using ::testing::HasSubstr;
using testing::indexed;
using testing::mib;
using testing::ms;
using ::testing::Not;
using testing::recording;

/// A job of ranks 0 to `count` - 1, each on its own GPU. Rank 5 needs 4 GiB, the others 2 GiB.
class job {
 public:
  explicit job(std::uint64_t count) {
    for (std::uint64_t rank = 0; rank < count; ++rank) {
      trace::process_row process;
      process.id = trace::process_id{rank + 1};
      process.pid = 100 + rank;
      process.rank = static_cast<std::int64_t>(rank);
      process.command = made_.text("train.py");
      made_.writer().add(process);
      trace::device_row device;
      device.id = trace::device_id{rank + 1};
      device.name = made_.text("H100");
      device.ordinal = static_cast<std::int64_t>(rank);
      made_.writer().add(device);
      trace::context_row context;
      context.id = trace::context_id{rank + 1};
      context.process = process.id;
      context.device = device.id;
      made_.writer().add(context);
      add_block(rank, rank == 5 ? 4 * gib : 2 * gib);
    }
    made_.flush();
    all_ = std::make_unique<indexed>(made_.open());
    of_ = metrics::make_report(all_->index, *all_->snapshot);
  }

  /// The text of `sluice report` for the rank that the program chooses by default.
  std::string text() { return text(metrics::rank_to_show(of_)); }
  std::string text(std::optional<std::int64_t> rank) {
    metrics::report shown = of_;
    std::optional<metrics::one_rank> only;
    if (rank) only = metrics::keep_rank(shown, tables(), *rank);
    return report_text({shown, tables(), "train.sluice", only});
  }
  metrics::report& of() { return of_; }
  const trace::tables& tables() { return all_->snapshot->tables(); }

 private:
  void add_block(std::uint64_t rank, std::uint64_t bytes) {
    auto row = made_.event<trace::alloc_event>(static_cast<trace::time_ns>(rank + 1) * ms);
    row.process = trace::process_id{rank + 1};
    row.device = trace::device_id{rank + 1};
    row.block = trace::block_id{rank + 1};
    row.bytes = bytes;
    row.layer = trace::layer::driver;
    row.kind = trace::memory_kind::device;
    made_.writer().add(row);
  }

  recording made_;
  std::unique_ptr<indexed> all_;
  metrics::report of_;
};

TEST(report_on_ranks, shows_all_of_a_few) {
  const std::string text = job(4).text();
  EXPECT_THAT(text, HasSubstr("GPU 0  CUDA allocations  2.00 GiB"));
  EXPECT_THAT(text, HasSubstr("GPU 3  CUDA allocations  2.00 GiB"));
}

TEST(report_on_ranks, shows_of_many_the_one_that_needs_most_memory) {
  const std::string text = job(8).text();
  EXPECT_THAT(
      text,
      HasSubstr("8 ranks. The tables about a single device or process are for rank 5, which needs the most memory"));
  EXPECT_THAT(text, HasSubstr("H100 (GPU 5)"));
  EXPECT_THAT(text, HasSubstr("GPU 5  CUDA allocations  4.00 GiB"));
  EXPECT_THAT(text, HasSubstr("(pid 105), rank 5"));
  for (const char* other : {"H100 (GPU 4)", "(pid 104)", "\n  GPU 4  CUDA allocations"})
    EXPECT_THAT(text, Not(HasSubstr(other)));
  EXPECT_THAT(text, HasSubstr("\n     4  GPU 4  CUDA")) << "but all ranks are compared";
}

TEST(report_on_ranks, shows_the_rank_that_is_asked_for) {
  const std::string text = job(8).text(2);
  EXPECT_THAT(text, HasSubstr("for rank 2; --rank selects another rank"));
  EXPECT_THAT(text, HasSubstr("GPU 2  CUDA allocations  2.00 GiB"));
  EXPECT_THAT(text, Not(HasSubstr("\n  GPU 5  CUDA allocations")));
}

TEST(report_on_ranks, says_what_is_of_all_ranks_together) {
  job eight(8);
  eight.of().whole.active = {0, 10 * ms};
  eight.of().whole.ranges = {{{}, 80, 40 * ms, ms, {}}};
  const std::string text = eight.text();
  EXPECT_THAT(text, HasSubstr("Named ranges by time, all 8 ranks together\n"));
  EXPECT_THAT(text, ::testing::ContainsRegex("40.0 ms +50 % +80")) << "half of each rank's time, on average";
}

TEST(report_on_ranks, knows_no_rank_that_is_not_there) {
  job eight(8);
  EXPECT_FALSE(metrics::keep_rank(eight.of(), eight.tables(), 8));
  EXPECT_EQ(eight.of().peaks.size(), 8U) << "and does not change the report";
}

TEST(report_on_ranks, keeps_what_ranks_share) {
  job eight(8);
  metrics::report whole_report = eight.of();
  metrics::memory_peak pinned;
  pinned.kind = trace::memory_kind::pinned;
  whole_report.peaks.push_back(pinned);
  ASSERT_TRUE(metrics::keep_rank(whole_report, eight.tables(), 5));
  ASSERT_EQ(whole_report.peaks.size(), 2U);
  EXPECT_EQ(whole_report.peaks[0].device, trace::device_id{6});
  EXPECT_EQ(whole_report.peaks[1].device, trace::device_id::none) << "host memory";
  EXPECT_EQ(whole_report.waste.ranks.size(), 8U);
}

TEST(report_on_ranks, compares_very_many_by_the_lowest_the_median_and_the_highest) {
  const std::string text = job(40).text();
  EXPECT_THAT(text, ::testing::ContainsRegex("lowest +median +highest"));
  EXPECT_THAT(text, ::testing::ContainsRegex("peak +2.00 GiB \\(rank 0\\) +2.00 GiB +4.00 GiB \\(rank 5\\)"));
  EXPECT_THAT(text, Not(::testing::ContainsRegex("\n +collectives"))) << "there are no collectives";
}

}  // namespace
}  // namespace sluice::cli
