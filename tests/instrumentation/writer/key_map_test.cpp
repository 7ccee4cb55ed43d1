// key_map behaves like std::unordered_map; recent_map drops only values that it must drop.
#include "instrumentation/writer/blocks/key_map.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <unordered_map>

namespace sluice::writer {
namespace {

TEST(key_map, keeps_everything) {
  std::mt19937_64 random(1);
  key_map<std::uint64_t> map;
  std::unordered_map<std::uint64_t, std::uint64_t> model;
  for (int round = 0; round < 200'000; ++round) {
    // Some keys count up, some are addresses, some are arbitrary.
    const std::uint64_t kinds[] = {1 + random() % 5'000, (1 + random() % 5'000) << 21, random() | 1};
    const std::uint64_t key = kinds[random() % 3];
    EXPECT_EQ(map.contains(key), model.contains(key));
    map.put(key, model[key] = random());
    const std::uint64_t asked = kinds[random() % 2];
    const auto known = model.find(asked);
    const auto* found = map.find(asked);
    ASSERT_EQ(found != nullptr, known != model.end());
    if (found != nullptr) {
      ASSERT_EQ(*found, known->second);
    }
  }
  EXPECT_EQ(map.size(), model.size());
  for (const auto& [key, value] : model) ASSERT_EQ(*map.find(key), value);
}

TEST(key_map, holds_nothing_under_no_key) {
  key_map<int> map;
  EXPECT_EQ(map.find(0), nullptr);
  EXPECT_EQ(map.find(5), nullptr);
  map.put(UINT64_MAX, 1);
  EXPECT_EQ(map.find(0), nullptr);
  EXPECT_EQ(*map.find(UINT64_MAX), 1);
}

/// Checks lookups in a table that forgets keys: each lookup returns the model's value or reports the key as forgotten,
/// and every forgotten key is reported.
template <class Key>
void forgets_only_what_it_tells(Key&& get_key, std::size_t most) {
  std::mt19937_64 random(2);
  recent_map<std::uint64_t> map(most);
  std::unordered_map<std::uint64_t, std::uint64_t> model;
  for (int round = 0; round < 100'000; ++round) {
    const std::uint64_t key = get_key(random());
    if (random() % 4 == 0) {
      map.erase(key);
      model.erase(key);
    } else {
      const std::uint64_t value = random();
      ASSERT_EQ(map.put(key, value, [&](std::uint64_t gone) { ASSERT_EQ(model.erase(gone), 1U); }), value);
      model[key] = value;
    }
    const std::uint64_t asked = get_key(random());
    const auto known = model.find(asked);
    const auto* found = map.find(asked);
    ASSERT_EQ(found != nullptr, known != model.end());
    if (found != nullptr) {
      ASSERT_EQ(*found, known->second);
    }
    ASSERT_LE(model.size(), most);
  }
}

TEST(recent_map, forgets_only_what_it_tells) {
  forgets_only_what_it_tells([](std::uint64_t any) { return 1 + any % 3'000; }, 1024);
  forgets_only_what_it_tells([](std::uint64_t any) { return (1 + any % 3'000) << 30; }, 64);
}

TEST(recent_map, keeps_the_last_of_keys_that_count_up) {
  constexpr std::uint64_t most = 256;
  recent_map<std::uint64_t> map(most);
  std::set<std::uint64_t> forgotten;
  for (std::uint64_t key = 1; key <= 10'000; ++key) {
    map.put(key, 3 * key, [&](std::uint64_t gone) {
      EXPECT_EQ(gone + most, key);
      forgotten.insert(gone);
    });
    const std::uint64_t oldest = key > most ? key - most + 1 : 1;
    ASSERT_NE(map.find(oldest), nullptr);
    ASSERT_EQ(*map.find(oldest), 3 * oldest);
    ASSERT_EQ(map.find(oldest - 1), nullptr);
  }
  EXPECT_EQ(forgotten.size(), 10'000 - most);
}

TEST(recent_map, grows_rather_than_forgets) {
  recent_map<int> map(std::size_t{1} << 16);
  std::size_t forgotten = 0;
  for (std::uint64_t i = 1; i <= 4'096; ++i) map.put(9 * i, static_cast<int>(i), [&](std::uint64_t) { ++forgotten; });
  EXPECT_EQ(forgotten, 0U);
  for (std::uint64_t i = 1; i <= 4'096; ++i) ASSERT_EQ(*map.find(9 * i), static_cast<int>(i));
}

}  // namespace
}  // namespace sluice::writer
