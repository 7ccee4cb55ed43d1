#include "core/base/id_lookup.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace sluice {
namespace {

/// Compares positions with a map, for dense ids in any order, ids far beyond them, ids that were far beyond until the
/// dense ids reached them, and dense ids that start again elsewhere.
TEST(positions, are_those_of_a_map) {
  std::mt19937_64 random(3);
  id_lookup tried;
  std::map<std::uint64_t, std::size_t> obvious;
  for (int i = 0; i < 200'000; ++i) {
    const auto recent = static_cast<std::uint64_t>(i / 2) + random() % 50;
    const std::uint64_t ids[] = {recent, recent, random() % 1'000'000, random(), UINT64_MAX - random() % 3, 0};
    const std::uint64_t id = ids[random() % std::size(ids)];
    if (i % 50'000 == 20'000) tried.expect(random() % 100'000);
    if (i % 30'000 == 10'000) tried.expect_run(random() % 10'000);
    if (i % 40'000 == 30'000) tried.expect_run(random() % 1'000'000, random() % 10'000);
    const std::size_t next = obvious.size();
    const auto [position, fresh] = tried.put(id, next);
    const auto [place, new_there] = obvious.try_emplace(id, next);
    ASSERT_EQ(position, place->second) << id;
    ASSERT_EQ(fresh, new_there) << id;
    const std::uint64_t asked = random() % 3 == 0 ? random() : random() % 1'000'000;
    const auto known = obvious.find(asked);
    ASSERT_EQ(tried.find(asked), known == obvious.end() ? id_lookup::none : known->second) << asked;
  }
}

}  // namespace
}  // namespace sluice
