#include "core/analysis/chunk_finder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/core/analysis/recording.hpp"

namespace sluice::analysis {
namespace {

/// Chunks of one row each: allocations, and now and then a loss, which matters everywhere, or a sample, which may.
class chunks_of_a_recording : public ::testing::Test {
 protected:
  chunks_of_a_recording() {
    std::mt19937_64 random(7);
    made.standard_tables();
    for (std::size_t i = 0; i < 1000; ++i) {
      if (i % 90 == 3) {
        made.writer().add(trace::loss_event{});
      } else if (i % 90 == 50) {
        made.writer().add(trace::counter_event{});
      } else {
        made.writer().add(trace::alloc_event{});
      }
      made.flush();
    }
    of = made.open()->latest();
    for (std::size_t chunk = 0; chunk < of->chunks().size(); ++chunk) {
      if (!trace::is_event(of->chunks()[chunk].type)) continue;
      chunk_reach reach;
      reach.chunk = chunk;
      reach.first = static_cast<time_ns>(reaches.size() * 10 + random() % 50);
      reach.last = random() % 100 == 0 ? latest_time : reach.first + static_cast<time_ns>(random() % 30);
      if (random() % 50 == 0) std::swap(reach.first, reach.last);  // Nothing in it.
      reaches.push_back(reach);
    }
  }

  [[nodiscard]] std::vector<std::size_t> one_by_one(time_range run, bool samples_told) const {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < reaches.size(); ++i) {
      const bool is_here = reaches[i].first < run.end && reaches[i].last >= run.begin;
      if (is_here || matters_everywhere(of->chunks()[reaches[i].chunk].type, samples_told)) found.push_back(i);
    }
    return found;
  }

  testing::recording made;
  std::shared_ptr<const trace::snapshot> of;
  std::vector<chunk_reach> reaches;
};

TEST_F(chunks_of_a_recording, are_found_as_by_looking_at_each) {
  ASSERT_EQ(reaches.size(), 1000U);
  const chunk_finder finder(reaches, *of);
  std::mt19937_64 random(8);
  for (int i = 0; i < 300; ++i) {
    const auto begin = static_cast<time_ns>(random() % 11'000);
    const time_range run{begin, begin + static_cast<time_ns>(random() % 2000)};
    const bool told = random() % 2 == 0;
    EXPECT_EQ(finder.in(run, told), one_by_one(run, told)) << run.begin << " to " << run.end;
  }
}

TEST_F(chunks_of_a_recording, may_be_none) {
  const chunk_finder finder({}, *of);
  EXPECT_TRUE(finder.in({-latest_time, latest_time}, false).empty());
}

}  // namespace
}  // namespace sluice::analysis
