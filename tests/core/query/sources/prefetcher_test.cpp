#include "core/query/sources/prefetcher.hpp"

#include <gtest/gtest.h>

#include "core/summary/passes/finalize.hpp"
#include "core/summary/stored/stored_metrics.hpp"
#include "tests/core/recordings/recording.hpp"

namespace sluice::query {
namespace {

using index::section_scope;
using summary::section_cache;
using summary::stored_tiles;
using sections = std::vector<std::size_t>;
using tiles = std::vector<timeline::tile>;

constexpr std::size_t all_sections = 64;
constexpr time_ns section_length = time_ns{1} << 14;
constexpr unsigned section_level = 14;
constexpr std::uint32_t width = 512;  ///< As many pixels as a tile has bins.

/// Fixture with sections of 2^14 ns; each tile of the next level covers two sections.
class moving_view : public ::testing::Test {
 protected:
  moving_view() {
    recording_.standard_tables();
    for (int i = 0; i < 64 * 64; ++i) {
      auto row = recording_.event<trace::kernel_event>(i * section_length / 64);
      row.end = row.time + 1;
      recording_.writer().add(row);
    }
    summary::finalize_options often;
    often.min_events = 1;
    often.section_events = 100;
    EXPECT_TRUE(summary::finalize(recording_.writer(), often));
    const auto subject = recording_.open()->latest();
    drawn = stored_tiles::of(subject);
    store = summary::section_reader::open(subject, {}).value();
    EXPECT_EQ(store->sections().size(), all_sections);
    parts = std::make_shared<section_cache>(store, SIZE_MAX);
    ahead = std::make_unique<prefetcher>(drawn, parts);
  }

  void work() {
    while (ahead->work()) {
    }
  }
  [[nodiscard]] sections sections_at_hand() const {
    sections whole;
    for (std::size_t section = 0; section < all_sections; ++section)
      if (parts->at_hand(section, section, section_scope::timeline) != nullptr) whole.push_back(section);
    return whole;
  }
  [[nodiscard]] tiles tiles_at_hand() const {
    tiles whole;
    for (unsigned level = section_level; level <= section_level + 3; ++level)
      for (time_ns begin = 0; begin < 64 * section_length; begin += time_ns{1} << level)
        if (drawn->at_hand({begin, level})) whole.push_back({begin, level});
    return whole;
  }

  testing::recording recording_;
  std::shared_ptr<const stored_tiles> drawn;
  std::shared_ptr<const summary::section_reader> store;
  std::shared_ptr<section_cache> parts;
  std::unique_ptr<prefetcher> ahead;
};

TEST_F(moving_view, reads_nothing_more_while_it_stands_still) {
  EXPECT_TRUE(ahead->prefetch({0, 4 * section_length}, width));
  work();
  EXPECT_EQ(tiles_at_hand(),
            (tiles{{0, section_level + 1}, {2 * section_length, section_level + 1}, {0, section_level + 2}}))
      << "the view after the first notch of the wheel";
  EXPECT_EQ(sections_at_hand(), sections());
  EXPECT_FALSE(ahead->prefetch({0, 4 * section_length}, width));
  EXPECT_FALSE(ahead->work());
}

TEST_F(moving_view, reads_the_tiles_in_view_those_below_and_those_beside) {
  EXPECT_TRUE(ahead->prefetch({0, 16 * section_length}, width));
  EXPECT_FALSE(ahead->prefetch({4 * section_length, 9 * section_length}, width))
      << "another thread is reading, and continues with this";
  // A tile over four sections has a bin for each pixel of this view.
  EXPECT_FALSE(ahead->prefetch({4 * section_length, 8 * section_length}, width)) << "another thread is reading";
  work();
  const timeline::tile below[] = {{4 * section_length, section_level + 1}, {6 * section_length, section_level + 1}};
  const timeline::tile over[] = {
      {0, section_level + 2}, {4 * section_length, section_level + 2}, {8 * section_length, section_level + 2}};
  tiles expected(std::begin(below), std::end(below));
  expected.insert(expected.end(), std::begin(over), std::end(over));
  EXPECT_EQ(tiles_at_hand(), expected);
  EXPECT_FALSE(ahead->work());
}

TEST_F(moving_view, reads_the_sections_in_view_and_half_a_view_beside_it) {
  EXPECT_TRUE(ahead->prefetch({0, 16 * section_length}, width));
  EXPECT_FALSE(ahead->prefetch({4 * section_length, 8 * section_length}, width))
      << "another thread is reading, and continues with this";
  work();
  EXPECT_EQ(sections_at_hand(), (sections{2, 3, 4, 5, 6, 7, 8, 9}));
}

TEST_F(moving_view, reads_first_the_sections_that_it_draws_from_the_end_that_who_draws_comes_to_last) {
  EXPECT_TRUE(ahead->prefetch({4 * section_length, 7 * section_length}, 5 * width));
  EXPECT_TRUE(ahead->work());
  EXPECT_EQ(sections_at_hand(), sections{6});
  EXPECT_TRUE(ahead->work());
  EXPECT_EQ(sections_at_hand(), (sections{5, 6}));
  EXPECT_EQ(tiles_at_hand(), tiles());
}

TEST_F(moving_view, reads_no_sections_from_afar) {
  EXPECT_TRUE(ahead->prefetch({0, 16 * section_length}, width));
  EXPECT_FALSE(ahead->prefetch({0, 30 * section_length}, width))
      << "another thread is reading, and continues with this";
  work();
  EXPECT_EQ(sections_at_hand(), sections());
}

TEST_F(moving_view, reads_the_sections_that_a_zoom_comes_to_soon_and_those_alone) {
  EXPECT_TRUE(ahead->prefetch({0, 64 * section_length}, width));
  // The fixed point is at the start of section 48, and at three quarters of the view.
  EXPECT_FALSE(ahead->prefetch({18 * section_length, 58 * section_length}, width))
      << "another thread is reading, and continues with this";
  work();
  EXPECT_EQ(sections_at_hand(), (sections{47, 48})) << "in a view two thirds as long as one";
}

TEST_F(moving_view, reads_no_sections_that_many_notches_of_a_zoom_lie_before) {
  constexpr std::uint32_t narrow = 8;
  EXPECT_TRUE(ahead->prefetch({0, 64 * section_length}, narrow));
  EXPECT_FALSE(ahead->prefetch({12 * section_length, 60 * section_length}, narrow))
      << "another thread is reading, and continues with this";
  work();
  EXPECT_EQ(sections_at_hand(), sections());
}

TEST_F(moving_view, begins_where_the_zoom_goes) {
  EXPECT_TRUE(ahead->prefetch({0, 16 * section_length}, width));
  // The fixed point is at nine tenths of the view: under the last tile.
  EXPECT_FALSE(ahead->prefetch({section_length * 54 / 10, section_length * 154 / 10}, width))
      << "another thread is reading, and continues with this";
  EXPECT_TRUE(ahead->work());
  EXPECT_EQ(tiles_at_hand(), (tiles{{8 * section_length, section_level + 3}}));
  EXPECT_FALSE(ahead->prefetch({0, section_length}, width)) << "another thread is reading, and continues with this";
  EXPECT_TRUE(ahead->work());
  EXPECT_EQ(tiles_at_hand(), (tiles{{0, section_level}, {8 * section_length, section_level + 3}}));
}

TEST_F(moving_view, reads_between_the_chunks_of_an_section_the_tiles_that_it_shows_and_one_of_smaller_bins) {
  EXPECT_TRUE(ahead->prefetch({0, 8 * section_length}, width));
  EXPECT_FALSE(ahead->prefetch({4 * section_length, 8 * section_length}, width))
      << "another thread is reading, and continues with this";
  ahead->read_urgent_tiles();
  EXPECT_EQ(tiles_at_hand(), (tiles{{6 * section_length, section_level + 1}, {4 * section_length, section_level + 2}}));
  EXPECT_EQ(sections_at_hand(), sections());
  EXPECT_TRUE(ahead->work()) << "more is still to be read";
}

TEST_F(moving_view, reads_nothing_between_the_chunks_of_an_section_that_it_shows) {
  EXPECT_TRUE(ahead->prefetch({4 * section_length, 7 * section_length}, 5 * width));
  ahead->read_urgent_tiles();
  EXPECT_EQ(tiles_at_hand(), tiles());
}

TEST_F(moving_view, expects_the_next_zoom_where_the_last_one_went) {
  EXPECT_TRUE(ahead->prefetch({0, 16 * section_length}, width));
  EXPECT_FALSE(ahead->prefetch({0, 8 * section_length}, width)) << "another thread is reading, and continues with this";
  // The view now moves to the left, where the next smaller bins are needed.
  EXPECT_FALSE(ahead->prefetch({4 * section_length, 12 * section_length}, width)) << "another thread is reading";
  ahead->read_urgent_tiles();
  EXPECT_EQ(tiles_at_hand(), (tiles{{4 * section_length, section_level + 2},
                                    {0, section_level + 3},
                                    {8 * section_length, section_level + 3}}));
}

TEST_F(moving_view, works_again_after_it_has_ended) {
  EXPECT_TRUE(ahead->prefetch({0, 4000}, width));
  EXPECT_FALSE(ahead->prefetch({0, 100}, width)) << "another thread is reading, and continues with this";
  work();
  EXPECT_TRUE(ahead->prefetch({14 * section_length, 15 * section_length}, width));
}

TEST_F(moving_view, reads_each_section_once_even_where_the_budget_holds_one) {
  // Tiles of the next smaller bins may be read between the chunks of a section; those are not counted.
  for (const time_ns begin : {4 * section_length, 6 * section_length}) drawn->prepare({begin, section_level + 1});
  prefetcher one(drawn, std::make_shared<section_cache>(store, 0));
  EXPECT_TRUE(one.prefetch({0, 16 * section_length}, width));
  EXPECT_FALSE(one.prefetch({4 * section_length, 8 * section_length}, width))
      << "another thread is reading, and continues with this";
  int read = 0;
  while (one.work() && read < 100) ++read;
  EXPECT_EQ(read, 8 + 3);  // The number includes three tiles: the tile in view and its neighbors.
}

}  // namespace
}  // namespace sluice::query
