#include "core/query/read_ahead.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/analysis/digest.hpp"
#include "core/analysis/finish.hpp"
#include "tests/core/analysis/recording.hpp"

namespace sluice::query {
namespace {

using analysis::part_cache;
using analysis::part_scope;
using analysis::stored_tiles;
using epochs = std::vector<std::size_t>;
using tiles = std::vector<summaries::tile>;

constexpr std::size_t all_epochs = 64;
constexpr time_ns epoch_length = time_ns{1} << 14;
constexpr unsigned epoch_level = 14;
constexpr std::uint32_t width = 512;  ///< As many pixels as a tile has bins.

/// Epochs of 2^14 ns; two of them lie under each tile of the next level.
class moving_view : public ::testing::Test {
 protected:
  moving_view() {
    recording_.standard_tables();
    for (int i = 0; i < 64 * 64; ++i) {
      auto row = recording_.event<trace::kernel_event>(i * epoch_length / 64);
      row.end = row.time + 1;
      recording_.writer().add(row);
    }
    analysis::finish_options often;
    often.least_events = 1;
    often.epoch_events = 100;
    EXPECT_TRUE(analysis::finish(recording_.writer(), often));
    const auto of = recording_.open()->latest();
    drawn = stored_tiles::of(of);
    store = analysis::part_store::open(of, {}).value();
    EXPECT_EQ(store->epochs().size(), all_epochs);
    parts = std::make_shared<part_cache>(store, SIZE_MAX);
    ahead = std::make_unique<read_ahead>(drawn, parts);
  }

  void look(time_range range, std::uint32_t pixels) { static_cast<void>(ahead->look(range, pixels)); }
  void work() {
    while (ahead->read_next()) {
    }
    while (ahead->read_later()) {
    }
  }
  [[nodiscard]] epochs epochs_at_hand() const {
    epochs all;
    for (std::size_t epoch = 0; epoch < all_epochs; ++epoch)
      if (parts->at_hand(epoch, epoch, part_scope::timeline) != nullptr) all.push_back(epoch);
    return all;
  }
  [[nodiscard]] tiles tiles_at_hand() const {
    tiles all;
    for (unsigned level = epoch_level; level <= epoch_level + 3; ++level)
      for (time_ns begin = 0; begin < 64 * epoch_length; begin += time_ns{1} << level)
        if (drawn->at_hand({begin, level})) all.push_back({begin, level});
    return all;
  }

  testing::recording recording_;
  std::shared_ptr<const stored_tiles> drawn;
  std::shared_ptr<const analysis::part_store> store;
  std::shared_ptr<part_cache> parts;
  std::unique_ptr<read_ahead> ahead;
};

TEST_F(moving_view, reads_nothing_more_while_it_stands_still) {
  look({0, 4 * epoch_length}, width);
  work();
  EXPECT_EQ(tiles_at_hand(), (tiles{{0, epoch_level + 1}, {2 * epoch_length, epoch_level + 1}, {0, epoch_level + 2}}))
      << "what a first notch of the wheel would show";
  EXPECT_EQ(epochs_at_hand(), epochs());
  look({0, 4 * epoch_length}, width);
  EXPECT_FALSE(ahead->read_next());
  EXPECT_FALSE(ahead->read_later());
}

TEST_F(moving_view, reads_the_tiles_in_view_those_below_and_those_beside) {
  look({0, 16 * epoch_length}, width);
  look({4 * epoch_length, 9 * epoch_length}, width);
  // A tile over four epochs has a bin for each pixel of this.
  look({4 * epoch_length, 8 * epoch_length}, width);
  work();
  const summaries::tile below[] = {{4 * epoch_length, epoch_level + 1}, {6 * epoch_length, epoch_level + 1}};
  const summaries::tile over[] = {
      {0, epoch_level + 2}, {4 * epoch_length, epoch_level + 2}, {8 * epoch_length, epoch_level + 2}};
  tiles expected(std::begin(below), std::end(below));
  expected.insert(expected.end(), std::begin(over), std::end(over));
  EXPECT_EQ(tiles_at_hand(), expected);
}

TEST_F(moving_view, reads_the_epochs_in_view_and_half_a_view_beside_it) {
  look({0, 16 * epoch_length}, width);
  look({4 * epoch_length, 8 * epoch_length}, width);
  work();
  EXPECT_EQ(epochs_at_hand(), (epochs{2, 3, 4, 5, 6, 7, 8, 9}));
}

TEST_F(moving_view, reads_first_the_epochs_that_it_draws_from_the_end_that_who_draws_comes_to_last) {
  look({4 * epoch_length, 7 * epoch_length}, 5 * width);
  EXPECT_TRUE(ahead->read_later());
  EXPECT_EQ(epochs_at_hand(), epochs{6});
  EXPECT_TRUE(ahead->read_later());
  EXPECT_EQ(epochs_at_hand(), (epochs{5, 6}));
  EXPECT_EQ(tiles_at_hand(), tiles());
}

TEST_F(moving_view, reads_no_epochs_from_afar) {
  look({0, 16 * epoch_length}, width);
  look({0, 30 * epoch_length}, width);
  work();
  EXPECT_EQ(epochs_at_hand(), epochs());
}

TEST_F(moving_view, reads_the_epochs_that_a_zoom_comes_to_soon_and_those_alone) {
  look({0, 64 * epoch_length}, width);
  // The point that stays in place is at the begin of epoch 48, and at three quarters of the view.
  look({18 * epoch_length, 58 * epoch_length}, width);
  work();
  EXPECT_EQ(epochs_at_hand(), (epochs{47, 48})) << "in a view two thirds as long as one";
}

TEST_F(moving_view, reads_no_epochs_that_many_notches_of_a_zoom_lie_before) {
  constexpr std::uint32_t narrow = 8;
  look({0, 64 * epoch_length}, narrow);
  look({12 * epoch_length, 60 * epoch_length}, narrow);
  work();
  EXPECT_EQ(epochs_at_hand(), epochs());
}

TEST_F(moving_view, begins_where_the_zoom_goes) {
  look({0, 16 * epoch_length}, width);
  // The point that stays in place is at nine tenths of the view: under the last tile.
  look({epoch_length * 54 / 10, epoch_length * 154 / 10}, width);
  EXPECT_TRUE(ahead->read_next());
  EXPECT_EQ(tiles_at_hand(), (tiles{{8 * epoch_length, epoch_level + 3}}));
  look({0, epoch_length}, width);
  EXPECT_TRUE(ahead->read_next());
  EXPECT_EQ(tiles_at_hand(), (tiles{{0, epoch_level}, {8 * epoch_length, epoch_level + 3}}));
}

TEST_F(moving_view, says_what_to_begin_where_nobody_reads_already) {
  const auto first = ahead->look({0, 64 * epoch_length}, width);
  EXPECT_TRUE(first.next);
  EXPECT_FALSE(first.later) << "it may stay where it is";
  const auto second = ahead->look({4 * epoch_length, 8 * epoch_length}, width);
  EXPECT_FALSE(second.next) << "somebody reads already, and goes on with this";
  EXPECT_TRUE(second.later);
  const auto third = ahead->look({4 * epoch_length, 7 * epoch_length}, width);
  EXPECT_FALSE(third.next);
  EXPECT_FALSE(third.later);
  work();
  const auto elsewhere = ahead->look({34 * epoch_length, 36 * epoch_length}, width);
  EXPECT_TRUE(elsewhere.next);
  EXPECT_TRUE(elsewhere.later);
}

TEST_F(moving_view, reads_the_tiles_of_the_next_notch_while_an_epoch_takes_long) {
  look({0, 16 * epoch_length}, width);
  look({4 * epoch_length, 8 * epoch_length}, width);
  EXPECT_TRUE(ahead->read_later()) << "somebody has begun";
  while (ahead->read_next()) {
  }
  EXPECT_EQ(epochs_at_hand().size(), 1U);
  const tiles of_notch = tiles_at_hand();
  for (const summaries::tile& each : drawn->tiles_under(drawn->grid_over({4 * epoch_length, 8 * epoch_length}, width)))
    EXPECT_NE(std::find(of_notch.begin(), of_notch.end(), each), of_notch.end());
}

TEST_F(moving_view, reads_each_epoch_once_even_where_the_budget_holds_one) {
  read_ahead one(drawn, std::make_shared<part_cache>(store, 0));
  static_cast<void>(one.look({0, 16 * epoch_length}, width));
  static_cast<void>(one.look({4 * epoch_length, 8 * epoch_length}, width));
  int read = 0;
  while (one.read_later() && read < 100) ++read;
  EXPECT_EQ(read, 8 + 2);  // Tiles beside the view, too.
}

}  // namespace
}  // namespace sluice::query
