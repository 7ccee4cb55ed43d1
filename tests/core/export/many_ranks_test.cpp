// Merged recordings of many ranks: the metrics of each rank, and findings about ranks that need more than the others.
#include <gtest/gtest.h>

#include <deque>
#include <map>

#include "core/export/recording/merge.hpp"
#include "core/generate/generate.hpp"
#include "core/index/growing_index.hpp"
#include "core/metrics/make_report.hpp"
#include "core/metrics/report/report.hpp"
#include "core/metrics/statistics/range_statistics.hpp"
#include "core/summary/stored/stored_metrics.hpp"
#include "tests/core/generate/replay.hpp"

namespace sluice::exports {
namespace {

using generate::testing::read;
using generate::testing::rows;
using generate::testing::temporary;

constexpr std::int64_t rank_count = 64;
constexpr std::int64_t slow = 23;
constexpr std::int64_t large = 41;
constexpr trace::time_ns us = 1'000;

/// The metrics of a rank from its own recording, before the merge.
struct own_metrics {
  std::uint64_t peak = 0;
  std::uint64_t collectives = 0;
  trace::time_ns computing = 0;
};

bool is_collective(const trace::snapshot& recording, const trace::kernel_event& row) {
  return recording.tables().text(row.name).starts_with("nccl");
}

own_metrics compute_metrics(const trace::snapshot& recording) {
  own_metrics own;
  index::growing_index index;
  index.absorb(recording, SIZE_MAX);
  const auto measure = metrics::measure(index, recording.tables(), index::recorded_range(recording));
  for (const auto& each : measure.memory)
    if (each.layer == trace::layer::framework) own.peak = std::max(own.peak, each.maximum);
  for (const auto& row : rows<trace::kernel_event>(recording)) {
    if (is_collective(recording, row))
      ++own.collectives;
    else
      own.computing += row.end - row.time;
  }
  return own;
}

/// A job recorded rank by rank and merged: the kernels of rank `slow` take longer, and rank `large` holds more blocks.
class many_ranks : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    std::deque<temporary> files;
    std::vector<std::shared_ptr<const trace::snapshot>> parts;
    for (std::int64_t rank = 0; rank < rank_count; ++rank) {
      files.emplace_back("many-ranks-" + std::to_string(rank));
      const std::uint64_t kept = rank == large ? 4'000 : 0;
      const generate::generate_options options{.events = 20'000 + kept,
                                               .stacks = generate::stack_choice::none,
                                               .first_rank = rank,
                                               .slow_rank = slow,
                                               .kept_blocks = kept};
      ASSERT_TRUE(generate::generate(options, files.back().path()));
      parts.push_back(read(files.back().path()));
      own_[rank] = compute_metrics(*parts.back());
    }
    const temporary whole("many-ranks");
    auto output = merge(parts, whole.path());
    ASSERT_TRUE(output) << output.error().to_string();
    made_ = std::move(*output);
    trace_ = read(whole.path());
    const auto stored = summary::find_stored_metrics(*trace_);
    ASSERT_NE(stored, nullptr);
    names_ = std::make_unique<symbols::frame_cache>();
    report_ = metrics::make_report(stored->metrics, *trace_, metrics::naming{*names_});
  }
  static void TearDownTestSuite() {
    trace_.reset();
    names_.reset();
  }

  static std::vector<std::string> get_texts(metrics::finding_kind kind) {
    std::vector<std::string> texts;
    for (const metrics::finding& each : report_.findings)
      if (each.kind == kind) texts.push_back(each.text);
    return texts;
  }

  static inline std::map<std::int64_t, own_metrics> own_;
  static inline merged made_;
  static inline std::shared_ptr<const trace::snapshot> trace_;
  static inline std::unique_ptr<symbols::frame_cache> names_;
  static inline metrics::report report_;
};

TEST_F(many_ranks, have_the_metrics_of_their_own_recordings) {
  const auto& ranks = report_.waste.ranks;
  ASSERT_EQ(ranks.size(), static_cast<std::size_t>(rank_count));
  for (std::int64_t rank = 0; rank < rank_count; ++rank) {
    const metrics::rank_metrics& rank_metrics = ranks[static_cast<std::size_t>(rank)];
    EXPECT_EQ(rank_metrics.rank, rank);
    EXPECT_EQ(rank_metrics.peak, own_[rank].peak) << "rank " << rank;
    EXPECT_EQ(rank_metrics.collectives, own_[rank].collectives) << "rank " << rank;
    EXPECT_EQ(rank_metrics.computing, own_[rank].computing) << "rank " << rank;
  }
  EXPECT_TRUE(trace_->warnings().empty());
}

TEST_F(many_ranks, wait_for_the_slow_one) {
  const auto& ranks = report_.waste.ranks;
  for (const metrics::rank_metrics& rank_metrics : ranks) {
    if (rank_metrics.rank == slow) {
      EXPECT_LT(rank_metrics.waiting, rank_metrics.collective_time / 10);
    } else {
      EXPECT_GT(rank_metrics.waiting, rank_metrics.collective_time / 2) << "rank " << rank_metrics.rank;
    }
  }
}

TEST_F(many_ranks, are_named_if_they_need_more_memory_or_make_the_others_wait) {
  const std::vector<std::string> texts = get_texts(metrics::finding_kind::rank_imbalance);
  ASSERT_EQ(texts.size(), 2U);
  const auto any = [&](const std::string& part) {
    return std::any_of(texts.begin(), texts.end(), [&](const auto& text) { return text.find(part) != text.npos; });
  };
  EXPECT_TRUE(any("Rank 41 uses")) << texts[0] << texts[1];
  EXPECT_TRUE(any("other ranks wait for rank 23")) << texts[0] << texts[1];
  EXPECT_TRUE(any("Its own kernels take")) << texts[0] << texts[1];
}

TEST_F(many_ranks, are_on_one_clock_whose_error_is_reported) {
  ASSERT_EQ(made_.clocks.size(), static_cast<std::size_t>(rank_count));
  std::map<std::int64_t, std::vector<trace::time_ns>> ends;
  for (const auto& row : rows<trace::kernel_event>(*trace_))
    if (is_collective(*trace_, row)) ends[trace_->tables().processes.find(row.process)->rank].push_back(row.end);
  for (std::size_t i = 1; i < made_.clocks.size(); ++i) {
    const clock_offset& clock = made_.clocks[i];
    EXPECT_EQ(clock.from, clock_offset::basis::collectives);
    EXPECT_EQ(clock.matched, ends[0].size());
    EXPECT_LT(clock.error, us);
    auto& subject = ends[static_cast<std::int64_t>(i)];
    std::sort(subject.begin(), subject.end());
    ASSERT_EQ(subject.size(), ends[0].size());
    std::size_t near = 0;
    for (std::size_t k = 0; k < subject.size(); ++k) near += std::abs(subject[k] - ends[0][k]) <= clock.error ? 1U : 0U;
    EXPECT_GE(near * 10, subject.size() * 9) << "rank " << i;
  }
  std::size_t reported = 0;
  for (const auto& row : rows<trace::message_event>(*trace_))
    reported += trace_->tables().text(row.text).find(" collectives") != std::string_view::npos ? 1U : 0U;
  EXPECT_EQ(reported, made_.clocks.size() - 1);
}

}  // namespace
}  // namespace sluice::exports
