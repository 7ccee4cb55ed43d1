#include "core/query/read_ahead.hpp"

#include <gtest/gtest.h>

#include "tests/core/query/in_parts.hpp"

namespace sluice::query {
namespace {

using analysis::part_cache;
using analysis::part_scope;

class read_ahead_of_a_zoom : public ::testing::Test {
 protected:
  void work() {
    while (ahead.work()) {
    }
  }
  [[nodiscard]] std::vector<std::size_t> at_hand() const {
    std::vector<std::size_t> all;
    for (std::size_t epoch = 0; epoch < of.store->epochs().size(); ++epoch)
      if (parts->at_hand(epoch, epoch, part_scope::timeline) != nullptr) all.push_back(epoch);
    return all;
  }
  using epochs = std::vector<std::size_t>;
  const testing::in_parts of;
  const std::shared_ptr<part_cache> parts = std::make_shared<part_cache>(of.store, SIZE_MAX);
  read_ahead ahead{parts};
};

TEST_F(read_ahead_of_a_zoom, reads_nothing_for_a_view_that_stands_still) {
  EXPECT_FALSE(ahead.look({1000, 2000}));
  EXPECT_FALSE(ahead.look({1000, 2000}));
  EXPECT_FALSE(ahead.work());
  EXPECT_EQ(at_hand(), epochs());
}

TEST_F(read_ahead_of_a_zoom, reads_what_is_in_view_and_half_a_view_beside_it) {
  static_cast<void>(ahead.look({0, 4000}));
  EXPECT_TRUE(ahead.look({1500, 2500}));
  EXPECT_FALSE(ahead.look({1500, 2499})) << "somebody reads already";
  work();
  EXPECT_EQ(at_hand(), (epochs{2, 3, 4, 5}));
  EXPECT_FALSE(ahead.work());
}

TEST_F(read_ahead_of_a_zoom, begins_where_the_zoom_goes) {
  static_cast<void>(ahead.look({0, 4000}));
  EXPECT_TRUE(ahead.look({900, 3900}));  // The point that stays in place is at nine tenths of the view.
  EXPECT_TRUE(ahead.work());
  EXPECT_EQ(at_hand(), epochs{7});
  EXPECT_FALSE(ahead.look({900, 1000})) << "somebody reads already, and goes on with this";
  EXPECT_TRUE(ahead.work());
  EXPECT_EQ(at_hand(), (epochs{1, 7}));
}

TEST_F(read_ahead_of_a_zoom, reads_each_epoch_once_even_where_the_budget_holds_one) {
  const auto small = std::make_shared<part_cache>(of.store, 0);
  read_ahead one(small);
  static_cast<void>(one.look({0, 4000}));
  ASSERT_TRUE(one.look({0, 3999}));
  int read = 0;
  while (one.work() && read < 100) ++read;
  EXPECT_EQ(read, 8);
}

TEST_F(read_ahead_of_a_zoom, works_again_after_it_has_ended) {
  static_cast<void>(ahead.look({0, 4000}));
  ASSERT_TRUE(ahead.look({0, 100}));
  work();
  EXPECT_TRUE(ahead.look({3900, 4000}));
}

}  // namespace
}  // namespace sluice::query
