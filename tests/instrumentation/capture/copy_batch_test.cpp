// Batches of copies: a recording has one interval on the device for the whole batch, and the blocks of each copy.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/index/growing_index.hpp"
#include "tests/instrumentation/capture/recording.hpp"
#include "tests/instrumentation/sizes.hpp"

namespace sluice::test {
namespace {

using namespace trace;
using testing::ElementsAre;

constexpr std::uint64_t many = 5000;  // More copies than are reported individually.

class copy_batch : public testing::Test {
 protected:
  static void SetUpTestSuite() { run_ = new recording(record_batches("")); }
  static void TearDownTestSuite() { delete run_; }
  void SetUp() override {
    if (run_->status == 77) GTEST_SKIP() << "CUDA before 13 has no batched copies";
    ASSERT_EQ(run_->status, 0);
  }
  static recording record_batches(const std::string& method) {
    return record({.arguments = {"batch", std::to_string(many)},
                   .variables = {{"SLUICE_FAKE_BATCH", method}},
                   .mode = "memory",
                   .program = "fake_edge_program"});
  }
  static const transfer_event& whole(std::uint64_t bytes) {
    const auto found = std::find_if(run_->transfers.begin(), run_->transfers.end(),
                                    [&](const transfer_event& t) { return t.bytes == bytes; });
    if (found == run_->transfers.end()) throw std::runtime_error("no such transfer");
    return *found;
  }
  static std::vector<transfer_part_event> get_parts(const transfer_event& whole) {
    std::vector<transfer_part_event> parts;
    std::copy_if(run_->parts.begin(), run_->parts.end(), std::back_inserter(parts),
                 [&](const transfer_part_event& p) { return p.transfer == whole.id; });
    return parts;
  }
  static std::uint64_t get_size(const recording& run, block_id block) {
    for (const alloc_event& a : run.allocs) {
      if (a.block == block) return a.bytes;
    }
    return 0;
  }
  static inline recording* run_ = nullptr;
};

TEST_F(copy_batch, is_one_transfer_without_blocks_of_its_own) {
  const transfer_event& batch = whole(1001 + 1002 + 1003 + 1004 + 1005);
  EXPECT_EQ(batch.copies, 5U);
  EXPECT_GT(batch.end, batch.time);
  EXPECT_EQ(batch.source_block, block_id::none);
  EXPECT_EQ(batch.destination_block, block_id::none);
  EXPECT_EQ(batch.destination_address, 0U);
}

TEST_F(copy_batch, has_parts_with_their_sizes_and_blocks) {
  const std::vector<transfer_part_event> parts = get_parts(whole(1001 + 1002 + 1003 + 1004 + 1005));
  std::vector<std::uint64_t> bytes, blocks, numbers;
  for (const transfer_part_event& part : parts) {
    bytes.push_back(part.bytes);
    blocks.push_back(get_size(*run_, part.destination_block));
    numbers.push_back(part.index);
    EXPECT_EQ(part.count, 5U);
    EXPECT_EQ(part.direction, direction::h2d);
    EXPECT_EQ(get_size(*run_, part.source_block), 4 * mib);
    EXPECT_NE(part.call, event_id::none);
  }
  EXPECT_THAT(bytes, ElementsAre(1001, 1002, 1003, 1004, 1005));
  EXPECT_THAT(blocks, ElementsAre(1 * mib, 2 * mib, 3 * mib, 1 * mib, 2 * mib));
  EXPECT_THAT(numbers, ElementsAre(0, 1, 2, 3, 4));
}

TEST_F(copy_batch, of_copies_both_ways_gives_each_transfer_its_own) {
  const std::vector<transfer_part_event> there = get_parts(whole(2001 + 2003));
  ASSERT_EQ(there.size(), 2U);
  EXPECT_EQ(there[0].bytes, 2001U);
  EXPECT_EQ(there[1].bytes, 2003U);
  // The only copy in its direction: CUPTI reports it as an ordinary copy.
  const transfer_event& back = whole(2002);
  EXPECT_EQ(back.direction, direction::d2h);
  EXPECT_EQ(get_size(*run_, back.source_block), 2 * mib);
  EXPECT_EQ(get_size(*run_, back.destination_block), 4 * mib);
}

TEST_F(copy_batch, of_thousands_tells_so_many_of_them_as_there_is_room_for) {
  const transfer_event& batch = whole(many * 16);
  EXPECT_EQ(batch.copies, many);
  const std::vector<transfer_part_event> parts = get_parts(batch);
  EXPECT_EQ(parts.size(), 4096U);
  std::set<std::uint64_t> numbers;
  for (const transfer_part_event& part : parts) {
    numbers.insert(part.index);
    EXPECT_EQ(part.count, many);
  }
  EXPECT_EQ(numbers.size(), 4096U);
  EXPECT_EQ(*numbers.rbegin(), 4095U);
  EXPECT_EQ(run_->summary.lost_events, 0U);
}

TEST_F(copy_batch, of_one_is_a_copy) {
  const transfer_event& copy = whole(3001);
  EXPECT_EQ(copy.copies, 1U);
  EXPECT_EQ(get_size(*run_, copy.destination_block), 2 * mib);
  EXPECT_TRUE(get_parts(copy).empty());
}

TEST_F(copy_batch, of_shapes_knows_their_bytes) {
  const std::vector<transfer_part_event> parts = get_parts(whole(2 * 100 * 4 * 2));
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[0].bytes, 800U);
  EXPECT_EQ(get_size(*run_, parts[0].destination_block), 2 * mib);
  EXPECT_EQ(get_size(*run_, parts[1].destination_block), 3 * mib);
}

TEST_F(copy_batch, touches_each_block_as_often_as_it_is_copied) {
  index::growing_index index;
  while (!index.absorb(*run_->snapshot, 64)) {
  }
  std::map<std::uint64_t, std::uint64_t> copies;
  for (const index::block_record& block : index.memory().blocks())
    copies[block.bytes] = index.touches().of(block).copies;
  EXPECT_EQ(copies[1 * mib], 3U);
  EXPECT_EQ(copies[2 * mib], 5U);
  EXPECT_EQ(copies[3 * mib], 3U);
  EXPECT_EQ(copies[many * 64], 4096U);
}

TEST_F(copy_batch, is_the_same_at_entry_points) {
  const recording run =
      record_by(route::entry_points,
                {.arguments = {"batch", std::to_string(many)}, .mode = "memory", .program = "fake_edge_program"});
  EXPECT_EQ(run.status, 0);
  std::vector<std::uint64_t> blocks;
  for (const transfer_part_event& part : run.parts) {
    if (part.count == 5) blocks.push_back(get_size(run, part.destination_block));
  }
  EXPECT_THAT(blocks, ElementsAre(1 * mib, 2 * mib, 3 * mib, 1 * mib, 2 * mib));
  EXPECT_EQ(run.parts.size(), 5U + 3U + 4096U + 2U);
}

TEST_F(copy_batch, reported_copy_by_copy_gives_the_first_its_addresses) {
  const recording each = record_batches("each");
  EXPECT_TRUE(each.parts.empty());
  const auto first = std::find_if(each.transfers.begin(), each.transfers.end(),
                                  [](const transfer_event& t) { return t.bytes == 1001; });
  ASSERT_NE(first, each.transfers.end());
  EXPECT_EQ(get_size(each, first->destination_block), 1 * mib);
  EXPECT_NE(first->call, event_id::none);
}

}  // namespace
}  // namespace sluice::test
