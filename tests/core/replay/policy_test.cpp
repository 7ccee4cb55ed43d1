#include "core/replay/policy.hpp"

#include <gtest/gtest.h>

#include "core/replay/allocator_rules.hpp"

namespace sluice::replay {
namespace {

TEST(policy, is_read_as_pytorch_reads_its_setting) {
  const auto read = parse_policy("expandable_segments:True, roundup_power2_divisions:4,max_split_size_mb:64");
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->by, policy::model::caching);
  EXPECT_TRUE(read->expandable);
  EXPECT_EQ(read->max_split, 64 * mib);
  EXPECT_EQ(read->divisions[7], 4U);
  EXPECT_EQ(parse_policy("backend:cudaMallocAsync")->by, policy::model::async);
  EXPECT_EQ(parse_policy("best fit")->by, policy::model::best_fit);
  EXPECT_EQ(parse_policy("sluice")->by, policy::model::sluice);
  EXPECT_DOUBLE_EQ(parse_policy("garbage_collection_threshold:0.8")->collect_above, 0.8);
  EXPECT_TRUE(parse_policy("pinned_use_background_threads:True").has_value());
}

TEST(policy, reads_divisions_for_ranges_of_sizes) {
  const auto read = parse_policy("roundup_power2_divisions:[256:1,512:2,1024:4,>:8]");
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->divisions[0], 1U);
  EXPECT_EQ(read->divisions[8], 1U);
  EXPECT_EQ(read->divisions[9], 2U);
  EXPECT_EQ(read->divisions[11], 8U);
}

TEST(policy, refuses_what_pytorch_refuses_in_one_line) {
  for (const char* text :
       {"", "nonsense", "max_split_size_mb", "max_split_size_mb:19", "max_split_size_mb:12x", "max_split_size_mb:-3",
        "expandable_segments:yes", "roundup_power2_divisions:3", "roundup_power2_divisions:[256", "backend:mine",
        "roundup_power2_divisions:[3:2]", "garbage_collection_threshold:1.5", "garbage_collection_threshold:nan",
        "expandable_segments:True,,", "native:True"}) {
    const auto read = parse_policy(text);
    ASSERT_FALSE(read.has_value()) << text;
    EXPECT_EQ(read.error().code, error_code::invalid_argument);
    EXPECT_EQ(read.error().to_string().find('\n'), std::string::npos);
  }
  EXPECT_NE(parse_policy("max_split_size_mb:19").error().to_string().find("from 20 on"), std::string::npos);
}

TEST(policy, may_empty_the_cache) {
  EXPECT_EQ(parse_policy("empty_cache:step")->empties, policy::emptying::each_step);
  const auto both = parse_policy("max_split_size_mb:128,empty_cache:failure");
  ASSERT_TRUE(both);
  EXPECT_EQ(both->empties, policy::emptying::failure);
  EXPECT_EQ(both->max_split, 128 * mib);
  EXPECT_EQ(parse_policy("native")->empties, policy::emptying::never);
  for (const char* wrong : {"empty_cache", "empty_cache:", "empty_cache:always"})
    EXPECT_FALSE(parse_policy(wrong)) << wrong;
}

TEST(policy, defaults_are_all_there) { EXPECT_EQ(default_policies().size(), 9U); }

TEST(block_size, rounds_as_the_allocator_does) {
  const policy native = *parse_policy("native");
  EXPECT_EQ(block_size(native, 0), 512U);
  EXPECT_EQ(block_size(native, 513), 1024U);
  const policy fourths = *parse_policy("roundup_power2_divisions:4");
  EXPECT_EQ(block_size(fourths, 1200 * 1024), 1280U * 1024) << "the example in PyTorch's comment";
  EXPECT_EQ(block_size(fourths, 2048), 2048U);
  EXPECT_EQ(block_size(fourths, 2049), 2560U);
  EXPECT_EQ(block_size(fourths, 64 * mib), 64 * mib);
  EXPECT_EQ(block_size(fourths, 65 * mib), 80 * mib);
  EXPECT_LT(block_size(native, ~std::uint64_t{0}), std::uint64_t{1} << 50) << "no address space is too small";
  const policy sluice = *parse_policy("sluice");
  EXPECT_EQ(block_size(sluice, 65 * mib), 72 * mib) << "eight sizes per power of two";
  EXPECT_EQ(segment_size(mib), 2 * mib);
  EXPECT_EQ(segment_size(mib + 512), 20 * mib);
  EXPECT_EQ(segment_size(21 * mib), 22 * mib);
}

}  // namespace
}  // namespace sluice::replay
