#include "core/index/growing_index.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "core/index/tensor_facts.hpp"
#include "tests/core/recordings/growing_program.hpp"

namespace sluice::index {
namespace {

constexpr auto all_chunks = std::numeric_limits<std::size_t>::max();

// While a recording grows, `tensors` may return an older result, because computing it takes long.
TEST(growing_index, updates_categories_at_once_if_asked) {
  testing::growing_program program({.events = 20'000, .seed = 3});
  program.write(0.5);
  const auto file = program.recorded.open();
  growing_index grown;
  ASSERT_TRUE(grown.absorb(*file->latest(), all_chunks));
  const std::size_t before = grown.tensors(*file->latest())->categories.size();
  program.write(0.5);
  ASSERT_TRUE(file->refresh());
  const auto now = file->latest();
  ASSERT_TRUE(grown.absorb(*now, all_chunks));
  EXPECT_TRUE(grown.tensors_are_old());
  grown.update_tensors(*now);
  EXPECT_FALSE(grown.tensors_are_old());
  growing_index fresh;
  ASSERT_TRUE(fresh.absorb(*now, all_chunks));
  const auto found = grown.tensors(*now), expected = fresh.tensors(*now);
  ASSERT_EQ(found->categories.size(), expected->categories.size());
  EXPECT_GT(found->categories.size(), before);
  for (std::size_t i = 0; i < found->categories.size(); ++i)
    EXPECT_EQ(found->categories[i].kind, expected->categories[i].kind) << i;
}

}  // namespace
}  // namespace sluice::index
