// The names in the blocks that the memory lane draws.
#include "app/gui/views/timeline/block_areas.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace sluice::gui::areas_of_blocks {
namespace {

using index::category;

constexpr std::uint64_t mib = std::uint64_t{1} << 20U;

shaped_block make_block(int id, category of, time_ns born, time_ns died, std::uint64_t bytes) {
  return {trace::block_id{static_cast<std::uint64_t>(id)}, born, died, bytes, static_cast<std::uint64_t>(of), 0};
}

std::vector<block_label> name(std::vector<shaped_block> blocks, std::uint64_t least_bytes = 1, time_ns least_time = 1) {
  return name_blocks(lay_out(std::move(blocks), {0, 100}, 100), least_bytes, least_time);
}

const block_label* find(const std::vector<block_label>& labels, std::string_view text) {
  const auto found = std::find_if(labels.begin(), labels.end(), [&](const auto& each) { return each.text == text; });
  return found == labels.end() ? nullptr : &*found;
}

TEST(block_areas, names_neighbors_of_a_category_together) {
  const auto labels =
      name({make_block(1, category::weight, -9, 200, 10 * mib), make_block(2, category::weight, -8, 200, 6 * mib),
            make_block(3, category::optimizer_state, -7, 200, 32 * mib)});
  EXPECT_EQ(labels.size(), 2U);
  const block_label* weights = find(labels, "Weight  16.0 MiB");
  const block_label* state = find(labels, "Optimizer state  32.0 MiB");
  ASSERT_TRUE(weights != nullptr && state != nullptr);
  EXPECT_EQ(weights->high, 16 * mib);
  EXPECT_EQ(state->low, 16 * mib);
  EXPECT_EQ(state->span, (time_range{0, 100}));
}

TEST(block_areas, does_not_join_blocks_of_a_category_with_others_between_them) {
  const auto labels =
      name({make_block(1, category::weight, -9, 200, 10 * mib), make_block(2, category::input, -8, 200, 6 * mib),
            make_block(3, category::weight, -7, 200, 10 * mib)});
  EXPECT_EQ(labels.size(), 3U);
}

TEST(block_areas, names_a_block_where_it_stays) {
  // The second block moves down when the first one is freed.
  const auto labels = name(
      {make_block(1, category::input, 10, 30, mib), make_block(2, category::activation, 20, 90, 8 * mib)}, 2 * mib, 20);
  ASSERT_EQ(labels.size(), 1U);
  EXPECT_EQ(labels[0].text, "Activation  8.00 MiB");
  EXPECT_EQ(labels[0].low, 0U);
  EXPECT_GE(labels[0].span.begin, 29);
  EXPECT_EQ(labels[0].span.end, 90);
}

TEST(block_areas, never_overlaps_names) {
  // The pile grows, so that the same blocks could be named with and without the last one.
  const auto labels = name(
      {make_block(1, category::activation, -5, 200, 8 * mib), make_block(2, category::activation, 50, 200, 4 * mib)});
  for (const block_label& a : labels)
    for (const block_label& b : labels)
      EXPECT_TRUE(&a == &b || a.span.end <= b.span.begin || b.span.end <= a.span.begin || a.high <= b.low ||
                  b.high <= a.low)
          << a.text << ", " << b.text;
  EXPECT_FALSE(labels.empty());
}

TEST(block_areas, leaves_out_names_of_small_and_of_short_blocks) {
  const std::vector<shaped_block> blocks{make_block(1, category::activation, 10, 30, mib)};
  EXPECT_EQ(name(blocks).size(), 1U);
  EXPECT_TRUE(name(blocks, 2 * mib).empty());
  EXPECT_TRUE(name(blocks, 1, 50).empty());
}

}  // namespace
}  // namespace sluice::gui::areas_of_blocks
