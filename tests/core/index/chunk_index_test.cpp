#include "core/index/chunk_index.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <random>

#include "core/summary/sections/section_writer.hpp"
#include "core/trace/file/layout.hpp"
#include "tests/core/recordings/recording.hpp"

namespace sluice::index {
namespace {

using chunks = std::vector<std::size_t>;

/// Fixture with chunks of one row each: allocations, and sometimes a loss, which is relevant for all later times, or a
/// sample, which may be relevant later.
class chunks_of_a_recording : public ::testing::TestWithParam<bool> {
 protected:
  chunks_of_a_recording() {
    std::mt19937_64 random(7);
    recorded.standard_tables();
    for (std::size_t i = 0; i < 3000; ++i) {
      if (i % 90 == 3) {
        recorded.writer().add(trace::loss_event{});
      } else if (i % 90 == 50) {
        recorded.writer().add(trace::counter_event{});
      } else {
        recorded.writer().add(trace::alloc_event{});
      }
      recorded.flush();
    }
    const auto whole = recorded.open()->latest();
    for (std::size_t chunk = 0; chunk < whole->chunks().size(); ++chunk) {
      const trace::row_type type = whole->chunks()[chunk].type;
      if (!trace::is_event(type)) continue;
      chunk_reach reach;
      reach.chunk = chunk;
      reach.time = static_cast<time_ns>(listed.size() * 10 + random() % 50);
      reach.end = random() % 1000 == 0 ? latest_time : reach.time + static_cast<time_ns>(random() % 30);
      if (random() % 50 == 0) std::swap(reach.time, reach.end);  // Empty range.
      reach.lowest_event = listed.size() * 100 + random() % 100;
      reach.highest_event = reach.lowest_event + random() % 200;
      reach.lowest_block = listed.size() * 7;
      reach.highest_block = reach.lowest_block + random() % 10;
      listed.push_back(reach);
      known.add(reach, type);
    }
    std::vector<time_ns> begins{0};
    summary::section_writer(recorded.writer(), begins).add_chunks(known);
    recorded.close();
    subject = recorded.open()->latest();
  }

  /// The chunk index: built from the chunks, or read back from the file, depending on the parameter.
  [[nodiscard]] chunk_index reaches() const { return GetParam() ? chunk_index(subject) : known; }

  [[nodiscard]] chunks one_by_one(const std::function<bool(const chunk_reach&)>& wanted) const {
    chunks found;
    for (const chunk_reach& each : listed)
      if (wanted(each)) found.push_back(each.chunk);
    return found;
  }

  testing::recording recorded;
  std::shared_ptr<const trace::snapshot> subject;
  std::vector<chunk_reach> listed;
  chunk_index known;
};

INSTANTIATE_TEST_SUITE_P(all, chunks_of_a_recording, ::testing::Bool(),
                         [](const auto& subject) { return subject.param ? "kept_by_the_file" : "known"; });

TEST_P(chunks_of_a_recording, are_found_by_time_as_by_looking_at_each) {
  ASSERT_EQ(listed.size(), 3000U);
  const chunk_index whole = reaches();
  std::mt19937_64 random(8);
  for (int i = 0; i < 300; ++i) {
    const auto begin = static_cast<time_ns>(random() % 33'000);
    const time_range run{begin, begin + static_cast<time_ns>(random() % 2000)};
    const bool reported = random() % 2 == 0;
    const auto expected = one_by_one([&](const chunk_reach& each) {
      const bool is_here = each.time < run.end && each.end >= run.begin;
      return is_here || matters_everywhere(subject->chunks()[each.chunk].type, reported);
    });
    EXPECT_EQ(whole.in(run, reported).value(), expected) << run.begin << " to " << run.end;
  }
}

TEST_P(chunks_of_a_recording, are_found_by_ids_as_by_looking_at_each) {
  const chunk_index whole = reaches();
  std::mt19937_64 random(9);
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t event = random() % 300'000, block = random() % 21'000;
    const auto has_event = [=](const chunk_reach& each) {
      return event >= each.lowest_event && event <= each.highest_event;
    };
    const auto has_block = [=](const chunk_reach& each) {
      return block >= each.lowest_block && block <= each.highest_block;
    };
    EXPECT_EQ(whole.find(has_event).value(), one_by_one(has_event)) << event;
    EXPECT_EQ(whole.find(has_block).value(), one_by_one(has_block)) << block;
  }
  EXPECT_EQ(whole.all().value(), one_by_one([](const chunk_reach&) { return true; }));
}

TEST_P(chunks_of_a_recording, are_read_only_where_they_are_looked_for) {
  std::size_t asked = 0;
  const auto found = reaches().find([&](const chunk_reach& each) {
    ++asked;
    return each.lowest_event <= 5000 && each.highest_event >= 5000;
  });
  EXPECT_FALSE(found->empty());
  EXPECT_LT(asked, listed.size() / 2);
}

TEST(chunk_reaches, may_be_none) { EXPECT_TRUE(chunk_index().in({-latest_time, latest_time}, false)->empty()); }

TEST(chunk_reaches, are_found_in_a_file_that_was_followed_to_its_end) {
  testing::recording recorded;
  recorded.standard_tables();
  recorded.writer().add(trace::alloc_event{});
  recorded.flush();
  const auto followed = recorded.open();
  chunk_index known;
  const std::size_t last = followed->latest()->chunks().size() - 1;
  known.add({0, 10, last, 7, 9, 0, 0}, trace::row_type::alloc);
  std::vector<time_ns> begins{0};
  summary::section_writer(recorded.writer(), begins).add_chunks(known);
  recorded.close();
  ASSERT_TRUE(followed->refresh().value());
  const auto found = chunk_index(followed->latest()).find([](const chunk_reach& each) {
    return each.lowest_event <= 8 && each.highest_event >= 8;
  });
  EXPECT_EQ(found.value(), chunks{last});
}

TEST(chunk_reaches, name_a_chunk_once_whatever_a_file_says) {
  testing::recording recorded;
  recorded.standard_tables();
  recorded.writer().add(trace::alloc_event{});
  recorded.flush();
  const std::size_t last = recorded.open()->latest()->chunks().size() - 1;
  const std::vector<chunk_reach> rows(1000, {0, 10, last, 7, 9, 0, 0});
  recorded.writer().add_summary(std::span(rows));
  recorded.close();
  EXPECT_EQ(chunk_index(recorded.open()->latest()).all().value(), chunks{last});
}

TEST(chunk_reaches, say_where_a_page_of_them_cannot_be_read) {
  testing::recording recorded;
  recorded.standard_tables();
  recorded.writer().add(trace::alloc_event{});
  recorded.flush();
  chunk_index known;
  known.add({0, 10, recorded.open()->latest()->chunks().size() - 1, 0, 0, 0, 0}, trace::row_type::alloc);
  std::vector<time_ns> begins{0};
  summary::section_writer(recorded.writer(), begins).add_chunks(known);
  recorded.close();
  const auto whole = recorded.open()->latest();
  ASSERT_EQ(chunk_index(whole).all()->size(), 1U);
  const auto page = whole->summaries().front();
  std::fstream raw(recorded.path(), std::ios::in | std::ios::out | std::ios::binary);
  raw.seekp(static_cast<std::streamoff>(page.offset + sizeof(trace::chunk_header))).write("??", 2);
  raw.close();
  const auto found = chunk_index(recorded.open()->latest()).all();
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, error_code::corrupt);
  EXPECT_EQ(found.error().offset, page.offset);
}

}  // namespace
}  // namespace sluice::index
