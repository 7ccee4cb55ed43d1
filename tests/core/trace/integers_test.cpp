#include "core/trace/columns/integers.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace sluice::trace {
namespace {

using column = std::vector<std::uint64_t>;

/// Values that rise by up to `most` each.
column rising(std::size_t count, std::uint64_t first, std::uint64_t most, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  column values;
  for (std::size_t i = 0; i < count; ++i) values.push_back(first += random() % most);
  return values;
}

/// Each value is `least` to `least` + 999 above its counterpart in `others`.
column beside(const column& others, std::uint64_t least) {
  std::mt19937_64 random(2);
  column values;
  for (const std::uint64_t other : others) values.push_back(other + least + random() % 1000);
  return values;
}

class column_of_integers : public ::testing::Test {
 protected:
  /// Encodes and decodes the values, and expects them to be unchanged. Returns the layout in which they were stored.
  column_layout store(const column& values, const column& reference = {}) {
    std::vector<std::byte> planes;
    const column_layout layout = encoder_.encode(values, reference, 2, habit_, planes);
    column decoded(values.size());
    EXPECT_TRUE(decode_integers(layout, planes, reference, decoded));
    EXPECT_EQ(decoded, values);
    return layout;
  }

 private:
  integer_encoder encoder_{1};
  column_habit habit_;
};

TEST_F(column_of_integers, that_never_fall_are_stored_by_how_much_they_rise) {
  // Twelve bits of noise: zigzag would move a bit of one byte into the next.
  const column_layout layout = store(rising(3000, 1'000'000'000'000, 4096, 1));
  EXPECT_EQ(layout.form, column_form::rising);
  EXPECT_EQ(layout.stored[0], 3000U) << "noise is left as it is";
  EXPECT_TRUE(layout.rises);
}

TEST_F(column_of_integers, that_fall_are_not_stored_as_rising_whatever_the_chunks_before_were) {
  column values = rising(3000, 1'000'000'000'000, 4096, 1);
  EXPECT_EQ(store(values).form, column_form::rising);
  std::swap(values[10], values[100]);
  const column_layout layout = store(values);
  EXPECT_EQ(layout.form, column_form::delta);
  EXPECT_FALSE(layout.rises);
  EXPECT_LE(layout.planes, 3U);
}

TEST_F(column_of_integers, that_are_never_below_others_are_stored_by_how_much_they_are_above) {
  const column others = rising(3000, 1'000'000'000'000, 100'000, 1);
  EXPECT_EQ(store(beside(others, 0), others).form, column_form::above);
}

TEST_F(column_of_integers, that_are_below_others_sometimes_are_not_stored_as_above) {
  const column others = rising(3000, 1'000'000'000'000, 100'000, 1);
  EXPECT_EQ(store(beside(others, 0), others).form, column_form::above);
  EXPECT_EQ(store(beside(others, std::uint64_t{0} - 500), others).form, column_form::relative);
}

TEST_F(column_of_integers, are_stored_another_way_soon_after_they_have_changed) {
  const column unrelated = rising(3000, 1, std::uint64_t{1} << 40, 2);
  for (unsigned chunk = 0; chunk < 100; ++chunk) {
    ASSERT_EQ(store(rising(3000, 1'000'000'000'000, 4096, chunk), unrelated).form, column_form::rising);
  }
  const column others = rising(3000, 1'000'000'000'000, 1 << 24, 1);
  store(beside(others, 0), others);
  EXPECT_EQ(store(beside(others, 0), others).form, column_form::above);
}

TEST_F(column_of_integers, wrap_around_where_they_end) {
  column values = rising(1000, std::uint64_t{0} - 20'000, 600, 1);
  ASSERT_LT(values.back(), values.front());
  EXPECT_FALSE(store(values).rises);
}

TEST(integers, above_a_column_that_is_not_there_are_above_0) {
  const column values = {5, 6, 7};
  std::vector<std::byte> planes;
  column_layout layout{.form = column_form::above, .base = 2, .planes = 1};
  layout.stored[0] = 3;
  for (const std::uint64_t value : values) planes.push_back(static_cast<std::byte>(value));
  column decoded(3);
  ASSERT_TRUE(decode_integers(layout, planes, {}, decoded));
  EXPECT_EQ(decoded, values);
}

}  // namespace
}  // namespace sluice::trace
