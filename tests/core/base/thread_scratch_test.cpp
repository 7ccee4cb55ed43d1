#include "core/base/thread_scratch.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <thread>

namespace sluice {
namespace {

TEST(thread_scratch, is_empty_and_in_the_memory_of_the_last) {
  const std::int64_t* before = nullptr;
  {
    thread_scratch<std::int64_t> list;
    list->resize(1000, 7);
    before = list->data();
  }
  thread_scratch<std::int64_t> list;
  EXPECT_TRUE(list->empty());
  ASSERT_GE(list->capacity(), 1000U);
  EXPECT_EQ(list->data(), before);
}

TEST(thread_scratch, is_another_while_one_is_in_use) {
  thread_scratch<std::int32_t> outer;
  outer->assign(100, 1);
  {
    thread_scratch<std::int32_t> inner;
    inner->assign(100, 2);
    EXPECT_NE(inner->data(), outer->data());
  }
  EXPECT_EQ(std::accumulate(outer->begin(), outer->end(), 0), 100);
}

TEST(thread_scratch, is_not_kept_where_it_is_long) {
  constexpr std::size_t longest = std::size_t{2} << 20;
  {
    thread_scratch<std::uint8_t> list;
    list->reserve(longest);
  }
  EXPECT_GE((*thread_scratch<std::uint8_t>()).capacity(), longest);
  {
    thread_scratch<std::uint8_t> list;
    list->reserve(longest + 1);
  }
  EXPECT_EQ((*thread_scratch<std::uint8_t>()).capacity(), 0U);
}

TEST(thread_scratch, is_of_its_thread) {
  {
    thread_scratch<double> list;
    list->resize(1000);
  }
  std::size_t elsewhere = 1;
  std::thread([&] { elsewhere = (*thread_scratch<double>()).capacity(); }).join();
  EXPECT_EQ(elsewhere, 0U);
}

}  // namespace
}  // namespace sluice
