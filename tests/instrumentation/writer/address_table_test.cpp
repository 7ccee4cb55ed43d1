// address_table gives the same results as std::map.
#include "instrumentation/writer/blocks/address_table.hpp"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>
#include <vector>

#include "tests/core/recordings/allocated.hpp"

namespace sluice::writer {
namespace {

TEST(address_table, results_as_an_ordered_map_would) {
  std::mt19937_64 random(1);
  address_table<std::uint64_t> map;
  std::map<std::uint64_t, std::uint64_t> model;
  // Grows, shrinks to nothing, and grows again. Keys are close together, so that most lookups hit.
  for (int round = 0; round < 300'000; ++round) {
    const bool growing = round / 50'000 % 2 == 0;
    const std::uint64_t address = random() % 20'000;
    if (random() % 4 == (growing ? 0u : 1u) || (!growing && random() % 2 == 0)) {
      map.erase(address);
      model.erase(address);
    } else if (growing) {
      map.put(address, random() % 7);
      model[address] = *map.find(address);
    }
    const std::uint64_t asked = random() % 20'000;
    const auto exact = model.find(asked);
    const auto* found = map.find(asked);
    ASSERT_EQ(found != nullptr, exact != model.end());
    if (found != nullptr) {
      ASSERT_EQ(*found, exact->second);
    }
    const auto above = model.upper_bound(asked);
    const auto* below = map.at_or_below(asked);
    ASSERT_EQ(below != nullptr, above != model.begin());
    if (below != nullptr) {
      ASSERT_EQ(*below, std::prev(above)->second);
    }
    ASSERT_EQ(map.size(), model.size());
  }
  std::vector<std::uint64_t> values;
  map.for_each([&](const std::uint64_t& v) { values.push_back(v); });
  std::vector<std::uint64_t> expected;
  expected.reserve(model.size());
  for (const auto& [address, v] : model) expected.push_back(v);
  EXPECT_EQ(values, expected);
}

TEST(address_table, takes_the_ends_of_the_address_space) {
  address_table<int> map;
  EXPECT_EQ(map.at_or_below(5), nullptr);
  map.erase(5);
  map.put(0, 1);
  map.put(UINT64_MAX, 2);
  EXPECT_EQ(*map.at_or_below(UINT64_MAX), 2);
  EXPECT_EQ(*map.at_or_below(UINT64_MAX - 1), 1);
  EXPECT_EQ(*map.at_or_below(0), 1);
}

TEST(address_table, values_stay_where_they_are) {
  address_table<int> map;
  int* first = &map.put(1000, 42);
  for (std::uint64_t i = 0; i < 10'000; ++i) map.put(i == 1000 ? 99'999 : i, 7);
  EXPECT_EQ(map.find(1000), first);
  EXPECT_EQ(*first, 42);
}

TEST(address_table, is_of_use_after_it_gave_its_memory_back) {
  address_table<int> map;
  for (int round = 0; round < 3; ++round) {
    for (std::uint64_t i = 0; i < 2000; ++i) map.put(i * 8, static_cast<int>(i));
    map.shrink_if_empty();
    EXPECT_EQ(map.size(), 2000U) << "it is not empty";
    EXPECT_EQ(*map.at_or_below(8 * 70 + 3), 70);
    for (std::uint64_t i = 0; i < 2000; ++i) map.erase(i * 8);
    map.shrink_if_empty();
    EXPECT_TRUE(map.empty());
    EXPECT_EQ(map.at_or_below(UINT64_MAX), nullptr);
  }
}

TEST(address_table, takes_no_memory_while_it_is_empty) {
  std::vector<std::unique_ptr<address_table<int>>> many(64);
  const std::size_t before = allocated();
  for (auto& table : many) {
    table = std::make_unique<address_table<int>>();
    EXPECT_EQ(table->find(8), nullptr);
    EXPECT_EQ(table->at_or_below(8), nullptr);
    table->erase(8);
    for (std::uint64_t i = 0; i < 1000; ++i) table->put(i * 8, 1);
    EXPECT_NE(table->at_or_below(UINT64_MAX - 1), nullptr);
    for (std::uint64_t i = 0; i < 1000; ++i) table->erase(i * 8);
    table->shrink_if_empty();
  }
  EXPECT_LE(allocated(), before + many.size() * 1024);
}

}  // namespace
}  // namespace sluice::writer
