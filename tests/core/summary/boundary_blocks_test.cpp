#include "core/summary/sections/boundary_blocks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <random>
#include <set>

namespace sluice::summary {
namespace {

/// Blocks with random lifetimes, in no order, and some sections.
struct random_lives {
  explicit random_lives(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::set<time_ns> times{0};
    for (std::size_t i = random() % 70; i > 0; --i) times.insert(static_cast<time_ns>(random() % 1000));
    begins.assign(times.begin(), times.end());
    for (std::uint64_t id = 1; id <= 300; ++id) {
      trace::alloc_event born;
      born.id = trace::event_id{id};
      born.block = trace::block_id{id};
      born.time = static_cast<time_ns>(random() % 1100) - 50;
      born.bytes = 1;
      memory.add(born);
      if (random() % 4 == 0) continue;
      trace::free_event died;
      died.id = trace::event_id{1000 + id};
      died.block = born.block;
      died.time = born.time + static_cast<time_ns>(random() % (random() % 2 == 0 ? 30 : 900));
      memory.add(died);
    }
  }
  [[nodiscard]] bool crosses(const index::block_record& block, std::size_t boundary) const {
    return block.born < begins[boundary] && (!block.freed() || block.died >= begins[boundary]);
  }
  std::vector<time_ns> begins;
  index::memory_use memory;
};

TEST(boundary_blocks, are_those_that_live_over_a_boundary) {
  for (std::uint64_t seed = 1; seed < 50; ++seed) {
    const random_lives lives(seed);
    std::set<std::size_t> expected;
    for (std::size_t b = 0; b < lives.memory.blocks().size(); ++b)
      for (std::size_t i = 1; i < lives.begins.size(); ++i)
        if (lives.crosses(lives.memory.blocks()[b], i)) expected.insert(b);
    std::set<std::size_t> found;
    for (std::size_t b = 0; b < lives.memory.blocks().size(); ++b) {
      const auto boundary = find_keeper(lives.memory.blocks()[b], lives.begins);
      if (!boundary) continue;
      found.insert(b);
      EXPECT_TRUE(lives.crosses(lives.memory.blocks()[b], *boundary));
    }
    EXPECT_EQ(found, expected) << "seed " << seed;
  }
}

TEST(boundary_blocks, are_kept_as_high_in_the_tree_as_they_reach) {
  for (std::uint32_t born = 0; born < 40; ++born) {
    for (std::uint32_t died = born + 1; died < 40; ++died) {
      std::uint32_t highest = died;
      for (std::uint32_t i = born + 1; i <= died; ++i)
        if (std::countr_zero(i) > std::countr_zero(highest)) highest = i;
      EXPECT_EQ(find_keeper(born, died), highest) << born << " " << died;
    }
  }
}

TEST(boundary_blocks, leave_out_what_lives_in_one_section_unless_its_death_is_inferred) {
  index::memory_use memory;
  trace::loss_event lost;
  lost.memory_events = 1;
  lost.time = 5;
  memory.add(lost);
  for (const std::uint64_t id : {1, 2}) {
    trace::alloc_event born;
    born.id = trace::event_id{id};
    born.block = trace::block_id{id};
    born.time = 110;
    memory.add(born);
  }
  trace::free_event died;
  died.id = trace::event_id{3};
  died.block = trace::block_id{1};
  died.time = 115;
  memory.add(died);
  trace::checkpoint_event empty;
  empty.id = trace::event_id{4};
  empty.time = 120;
  memory.add(empty);
  memory.reconcile();
  const std::vector<time_ns> begins{0, 100, 200};
  EXPECT_EQ(find_keeper(*memory.find(trace::block_id{1}), begins), std::nullopt);
  EXPECT_EQ(find_keeper(*memory.find(trace::block_id{2}), begins), 1U);
}

TEST(boundary_blocks, of_one_section_are_none) {
  const random_lives lives(3);
  for (const index::block_record& block : lives.memory.blocks()) {
    EXPECT_EQ(find_keeper(block, std::vector<time_ns>{0}), std::nullopt);
    EXPECT_EQ(find_keeper(block, std::vector<time_ns>{}), std::nullopt);
  }
  EXPECT_EQ(find_section(std::vector<time_ns>{10, 20}, 5), 0U);
  EXPECT_EQ(find_section(std::vector<time_ns>{10, 20}, 19), 0U);
  EXPECT_EQ(find_section(std::vector<time_ns>{10, 20}, 20), 1U);
}

}  // namespace
}  // namespace sluice::summary
