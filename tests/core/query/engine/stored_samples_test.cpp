#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "core/query/engine/engine.hpp"
#include "core/summary/tiles/stored_tiles.hpp"
#include "tests/core/query/results/results_in_words.hpp"
#include "tests/core/recordings/copied_rows.hpp"
#include "tests/core/recordings/recording.hpp"

/// For every format version with summaries, a file gives the same results from its own summaries as from an index of
/// all its rows.
namespace sluice::query {
namespace {

class summed_up_sample : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const std::string path =
        std::string(SLUICE_SOURCE_DIR) + "/tests/core/trace/samples/" + GetParam() + "/summed-up.sluice";
    const auto opened = trace::file::open(path).value();
    ASSERT_NE(summary::stored_tiles::of(opened->latest()), nullptr);
    testing::copy_rows(*opened->latest(), plain_.writer());
    plain_.close();
    with_ = std::make_unique<engine>(opened);
    without_ = std::make_unique<engine>(trace::file::open(plain_.path()).value());
  }

  template <class Query>
  void expect_the_same(const Query& query) {
    const auto stored = with_->ask_now(query);
    const auto plain = without_->ask_now(query);
    ASSERT_EQ(stored.has_value(), plain.has_value());
    if (!stored) return;
    EXPECT_EQ(in_words(**stored), in_words(**plain));
  }

  testing::recording plain_;
  std::unique_ptr<engine> with_;
  std::unique_ptr<engine> without_;
};

TEST_P(summed_up_sample, tells_of_any_part_what_an_index_of_all_does) {
  const time_range whole = without_->ask_now(tracks_query{}).value()->span;
  std::mt19937_64 random(3);
  for (int i = 0; i < 30; ++i) {
    const time_ns begin = whole.begin + static_cast<time_ns>(random() % static_cast<std::uint64_t>(whole.length()));
    const time_range part{begin, begin + 1 + (whole.length() >> (2 + i % 12))};
    expect_the_same(statistics_query{part});
    blocks_query blocks;
    blocks.range = part;
    expect_the_same(blocks);
    for (const stack_measure measure : {stack_measure::peak, stack_measure::live, stack_measure::allocated}) {
      stacks_query stacks;
      stacks.range = part;
      stacks.at = part.begin;
      stacks.measure = measure;
      expect_the_same(stacks);
    }
  }
}

TEST_P(summed_up_sample, draws_any_part_as_an_index_of_all_does) {
  const auto tracks = without_->ask_now(tracks_query{}).value();
  ASSERT_EQ(with_->ask_now(tracks_query{}).value()->tracks.size(), tracks->tracks.size());
  std::mt19937_64 random(4);
  std::size_t compared = 0;
  for (const track& each : tracks->tracks) {
    for (int i = 0; i < 8; ++i) {
      const time_ns begin =
          tracks->span.begin + static_cast<time_ns>(random() % static_cast<std::uint64_t>(tracks->span.length()));
      const auto stored =
          with_->ask_now(series_query{each.id, {begin, begin + 2 + (tracks->span.length() >> (4 + i))}, 50, false});
      if (!stored || (*stored)->bands.empty()) break;
      const auto bins = static_cast<std::uint32_t>((*stored)->bands[0].bins.size());
      const auto plain = without_->ask_now(series_query{each.id, (*stored)->range, bins, false}).value();
      ASSERT_EQ(in_words(**stored), in_words(*plain)) << each.label;
      ++compared;
    }
  }
  EXPECT_GT(compared, 20U);
}

std::string get_name(const ::testing::TestParamInfo<const char*>& version) {
  std::string name = version.param;
  std::replace(name.begin(), name.end(), '.', '_');
  return "version_" + name;
}

INSTANTIATE_TEST_SUITE_P(versions, summed_up_sample, ::testing::Values("4.0"), get_name);

}  // namespace
}  // namespace sluice::query
