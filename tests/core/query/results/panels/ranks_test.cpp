#include "core/query/types/ranks.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/core/query/results/in_both_ways.hpp"

namespace sluice::query {
namespace {

using testing::recording;
using trace::layer;
using trace::memory_kind;

/// Writes two ranks with a device each: rank 1 allocates more, and its device is busy half of the time.
void write_ranks(recording& to) {
  to.standard_tables();
  for (std::uint64_t rank = 0; rank < 2; ++rank) {
    trace::process_row process;
    process.id = trace::process_id{10 + rank};
    process.pid = 10 + rank;
    process.rank = static_cast<std::int64_t>(rank);
    to.writer().add(process);
    trace::device_row device;
    device.id = trace::device_id{20 + rank};
    device.uuid_low = 20 + rank;
    device.ordinal = static_cast<std::uint32_t>(rank);
    device.memory_bytes = 1'000'000;
    to.writer().add(device);
    auto row = to.event<trace::alloc_event>(100);
    row.process = process.id;
    row.block = trace::block_id{1 + rank};
    row.bytes = 1000 * (rank + 1);
    row.kind = memory_kind::device;
    row.device = device.id;
    to.writer().add(row);
    for (time_ns begin = 0; begin < 10'000; begin += 100) {
      auto kernel = to.event<trace::kernel_event>(begin);
      kernel.process = process.id;
      kernel.end = begin + (rank == 0 ? 100 : 50);
      kernel.device = device.id;
      kernel.stream = trace::stream_id{30 + rank};
      to.writer().add(kernel);
    }
  }
}

ranks_query about(std::uint32_t width) {
  ranks_query output;
  for (std::uint64_t rank = 0; rank < 2; ++rank)
    output.ranks.push_back(
        {trace::process_id{10 + rank}, {trace::device_id{20 + rank}, layer::driver, memory_kind::device}});
  output.range = {0, 10'000};
  output.width = width;
  return output;
}

TEST(ranks, have_their_memory_over_time) {
  recording recorded;
  write_ranks(recorded);
  recorded.close();
  const rank_rows found = make_result(recorded.path(), about(100));
  ASSERT_EQ(found.rows.size(), 2U);
  ASSERT_EQ(found.rows[0].memory.size(), 100U);
  EXPECT_EQ(found.rows[0].memory[0], 0);
  EXPECT_EQ(found.rows[0].memory[1], 1000);
  EXPECT_EQ(found.rows[1].memory[50], 2000);
}

TEST(ranks, have_the_share_of_time_in_which_their_device_is_idle) {
  recording recorded;
  write_ranks(recorded);
  recorded.close();
  const rank_rows found = make_result(recorded.path(), about(10));
  ASSERT_EQ(found.rows[0].idle.size(), 10U);
  for (std::size_t part = 0; part < 10; ++part) {
    EXPECT_NEAR(found.rows[0].idle[part], 0, 0.01);
    EXPECT_NEAR(found.rows[1].idle[part], 0.5, 0.01);
  }
  EXPECT_TRUE(found.rows[0].waiting.empty()) << "no calls were recorded";
}

TEST(ranks, from_the_tiles_of_a_file_have_the_same_highest_memory) {
  const auto [whole, tiles] = ask_both_ways(write_ranks, about(64));
  for (std::size_t rank = 0; rank < 2; ++rank) {
    ASSERT_FALSE(tiles.rows[rank].memory.empty());
    EXPECT_EQ(*std::max_element(tiles.rows[rank].memory.begin(), tiles.rows[rank].memory.end()),
              *std::max_element(whole.rows[rank].memory.begin(), whole.rows[rank].memory.end()));
    EXPECT_EQ(tiles.rows[rank].idle.size(), tiles.rows[rank].memory.size());
  }
}

TEST(ranks, of_one_device_have_their_own_memory_each) {
  const auto write = [](recording& to) {
    to.standard_tables();
    for (std::uint64_t rank = 0; rank < 2; ++rank) {
      trace::process_row process;
      process.id = trace::process_id{10 + rank};
      process.rank = static_cast<std::int64_t>(rank);
      to.writer().add(process);
    }
    for (std::uint64_t i = 0; i < 100; ++i) {
      auto row = to.event<trace::alloc_event>(static_cast<time_ns>(i) * 100);
      row.process = trace::process_id{10 + i % 2};
      row.block = trace::block_id{1 + i};
      row.bytes = 1000 + i;
      row.kind = memory_kind::device;
      row.device = trace::device_id{1};
      to.writer().add(row);
      to.add_free(static_cast<time_ns>(i) * 100 + 250, 1 + i);
    }
  };
  ranks_query asked;
  asked.range = {0, 10'000};
  asked.width = 64;
  for (std::uint64_t rank = 0; rank < 2; ++rank)
    asked.ranks.push_back({trace::process_id{10 + rank}, {trace::device_id{1}, layer::driver, memory_kind::device}});
  const auto [whole, tiles] = ask_both_ways(write, asked);
  for (std::uint64_t rank = 0; rank < 2; ++rank) {
    memory_groups_query own{.range = asked.range, .width = asked.width, .by = memory_grouping::process};
    own.device = trace::device_id{1};
    own.kind = memory_kind::device;
    own.process = trace::process_id{10 + rank};
    const auto [from_index, from_sections] = ask_both_ways(write, own);
    EXPECT_EQ(from_index.total, from_sections.total);
    for (const rank_rows& rows : {whole, tiles}) {
      rank_row row = rows.rows[rank];
      const double both = *std::max_element(row.memory.begin(), row.memory.end());
      put_own_memory(from_index, rows.range, row);
      ASSERT_EQ(row.memory.size(), rows.rows[rank].memory.size());
      // Two blocks of the rank overlap for 50 ns: the last two are the largest.
      EXPECT_EQ(*std::max_element(row.memory.begin(), row.memory.end()),
                2.0 * (1000 + 98 + static_cast<double>(rank)) - 2);
      EXPECT_GT(both, row.memory.back()) << "the device's covers both";
    }
  }
}

}  // namespace
}  // namespace sluice::query
