// A tile of many curves is stored in several chunks; a view reads only the chunks that it draws.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/summary/passes/finalize.hpp"
#include "core/summary/tiles/stored_tiles.hpp"
#include "core/trace/columns/codec.hpp"
#include "core/trace/file/layout.hpp"
#include "tests/core/recordings/recording.hpp"

namespace sluice::summary {
namespace {

/// Increasing counters: counter `c` has the value 10,000 * c + i at 16 * i ns.
class many_counters {
 public:
  static constexpr int ns = 16;

  many_counters(int counters, int changes, double section_events) : changes_(changes) {
    made_.standard_tables();
    for (int c = 1; c <= counters; ++c) {
      trace::counter_row counter;
      counter.id = static_cast<trace::counter_id>(c + 1);
      counter.name = made_.text("counter " + std::to_string(c));
      made_.writer().add(counter);
    }
    for (int i = 0; i < changes; ++i) {
      for (int c = 1; c <= counters; ++c) {
        trace::counter_event counter;
        counter.time = i * ns;
        counter.counter = static_cast<trace::counter_id>(c + 1);
        counter.value = 10'000 * c + i;
        made_.writer().add(counter);
      }
    }
    EXPECT_TRUE(finalize(made_.writer(), {1, section_events}));
  }

  [[nodiscard]] const std::string& path() const { return made_.path(); }
  [[nodiscard]] time_range range() const { return {0, static_cast<time_ns>(changes_) * ns}; }

  /// Expects the bins of a counter to have its values; returns how many were compared.
  int expect_values(const trace::curve_row& row, const bin_grid& grid,
                    std::span<const timeline::sampled_bin> bins) const {
    int compared = 0;
    const double base = 10'000 * (static_cast<double>(row.counter) - 1);
    for (std::size_t i = 1; i < grid.count; ++i) {
      const time_ns end = grid.begin + static_cast<time_ns>(i + 1) * grid.bin() - 1;
      if (end >= range().end) break;
      EXPECT_EQ(bins[i].maximum, base + static_cast<double>(end / ns)) << raw(row.counter) << " bin " << i;
      ++compared;
    }
    return compared;
  }

 private:
  testing::recording made_;
  int changes_;
};

std::vector<std::uint32_t> list_counters(const stored_tiles& tiles) {
  std::vector<std::uint32_t> found;
  for (const trace::curve_row& curve : tiles.curves())
    if (curve.type == trace::curve_kind::counter) found.push_back(curve.curve);
  return found;
}

TEST(tiles_of_many_curves, tell_them_in_chunks_of_some) {
  constexpr int counters = 140;
  const many_counters output(counters, 2048, 1e9);
  const auto trace = trace::file::open(output.path()).value()->latest();
  std::map<std::pair<time_ns, time_ns>, std::uint64_t> reported;
  for (const trace::chunk_info& chunk : trace->summaries()) {
    if (chunk.type != trace::row_type::integer_bin) continue;
    EXPECT_LT(chunk.rows, 10'000U);
    const auto [before, first] = reported.try_emplace({chunk.min_time, chunk.max_time}, chunk.highest_event);
    EXPECT_TRUE(first || chunk.lowest_event > before->second) << "no curve is in two chunks";
    before->second = chunk.highest_event;
  }
  const auto tiles = stored_tiles::of(trace);
  ASSERT_NE(tiles, nullptr);
  const bin_grid grid = tiles->grid_over(output.range(), 400);
  const std::vector<std::uint32_t> curves = list_counters(*tiles);
  auto detail = bin_detail::exact;
  const auto bins = tiles->sample(curves, grid, {}, detail);
  ASSERT_TRUE(bins);
  EXPECT_EQ(detail, bin_detail::exact);
  int compared = 0;
  for (std::size_t c = 0; c < curves.size(); ++c)
    compared += output.expect_values(tiles->curves()[curves[c]], grid, (*bins)[c]);
  EXPECT_GT(compared, counters * 300);
}

TEST(tiles_of_many_curves, are_read_where_they_tell_of_those_that_are_drawn) {
  const many_counters counters(140, 2048, 1e9);
  const auto drawn = [&](std::size_t which) {
    const auto tiles = stored_tiles::of(trace::file::open(counters.path()).value()->latest());
    const std::uint32_t curve = list_counters(*tiles)[which];
    const bin_grid grid = tiles->grid_over(counters.range(), 400);
    auto detail = bin_detail::exact;
    const auto bins = tiles->sample(std::span(&curve, 1), grid, {}, detail);
    if (bins) counters.expect_values(tiles->curves()[curve], grid, bins->front());
    return bins.has_value();
  };
  EXPECT_TRUE(drawn(0));
  EXPECT_TRUE(drawn(139));
  const auto trace = trace::file::open(counters.path()).value()->latest();
  std::fstream file(counters.path(), std::ios::in | std::ios::out | std::ios::binary);
  for (const trace::chunk_info& chunk : trace->summaries()) {
    if (chunk.type != trace::row_type::integer_bin || chunk.lowest_event < 20) continue;
    file.seekp(static_cast<std::streamoff>(chunk.offset + sizeof(trace::chunk_header)));
    file.put('\xff').put('\xff');
  }
  file.close();
  EXPECT_TRUE(drawn(0)) << "its chunk is whole";
  EXPECT_FALSE(drawn(139));
}

/// Reads chunks from a program that starts a new chunk in the middle of a curve when a chunk is full.
TEST(tiles_of_many_curves, may_go_on_with_a_curve_in_the_next_chunk) {
  constexpr std::uint32_t curves = 130;
  constexpr time_ns length = time_ns{1} << 14, bin = length / trace::tile_bins;
  testing::recording recorded;
  recorded.standard_tables();
  recorded.writer().add_summary<trace::section_row>(std::vector<trace::section_row>{{0, length, 1}});
  std::vector<trace::curve_row> about(curves);
  std::vector<trace::integer_bin_row> rows;
  for (std::uint32_t c = 0; c < curves; ++c) {
    about[c].curve = c;
    about[c].type = trace::curve_kind::counter;
    about[c].maximum = trace::tile_bins;
    for (std::uint32_t i = 0; i < trace::tile_bins; ++i) {
      trace::integer_bin_row& row = rows.emplace_back();
      row.time = i * bin;
      row.curve = c;
      row.rise = row.last = 1;
    }
  }
  ASSERT_GT(rows.size(), trace::max_chunk_rows);
  recorded.writer().add_summary<trace::curve_row>(about);
  recorded.writer().add_summary<trace::integer_bin_row>(rows, std::pair<time_ns, time_ns>{0, length - 1});
  ASSERT_TRUE(recorded.writer().close());
  const auto tiles = stored_tiles::of(trace::file::open(recorded.path()).value()->latest());
  ASSERT_NE(tiles, nullptr);
  for (std::uint32_t c = 0; c < curves; ++c) {
    auto detail = bin_detail::exact;
    const auto bins = tiles->sample(std::span(&c, 1), tiles->grid_over({0, length}, trace::tile_bins), {}, detail);
    ASSERT_TRUE(bins);
    for (std::uint32_t i = 0; i < trace::tile_bins; ++i) ASSERT_EQ((*bins)[0][i].maximum, i + 1) << c << " bin " << i;
  }
}

/// A tile of a section would have more bins than the section has events.
TEST(tiles_of_very_many_curves, are_left_out_where_they_have_more_bins_than_events) {
  const many_counters counters(2100, 512, 40'000);
  const auto trace = trace::file::open(counters.path()).value()->latest();
  const auto tiles = stored_tiles::of(trace);
  ASSERT_NE(tiles, nullptr);
  time_ns narrowest_tile = counters.range().end, shortest = counters.range().end;
  for (const trace::chunk_info& chunk : trace->summaries())
    if (trace::is_of_tile(chunk.type)) narrowest_tile = std::min(narrowest_tile, chunk.max_time + 1 - chunk.min_time);
  for (std::size_t i = 0; i < tiles->sections()->size(); ++i)
    shortest = std::min(shortest, tiles->sections()->at(i).length());
  ASSERT_GT(narrowest_tile, shortest);

  const auto index_of_all = std::make_shared<index::growing_index>();
  while (!index_of_all->absorb(*trace, SIZE_MAX)) {
  }
  const bin_sources with_events{[&](std::span<const std::size_t> sections) {
    return std::vector<std::shared_ptr<const index::event_store>>(sections.size(), index_of_all);
  }};
  const std::vector<std::uint32_t> curves = list_counters(*tiles);
  const std::vector<std::uint32_t> few = {curves.front(), curves[1000], curves.back()};
  for (time_range range = counters.range(); range.length() > 64; range.end = range.begin + range.length() / 2) {
    const bin_grid grid = tiles->grid_over(range, 300);
    auto of_tiles = bin_detail::exact, of_events = bin_detail::exact;
    const auto coarse = tiles->sample(few, grid, {}, of_tiles);
    const auto exact = tiles->sample(few, grid, with_events, of_events);
    ASSERT_TRUE(coarse && exact);
    EXPECT_EQ(of_tiles == bin_detail::exact, grid.bin() * trace::tile_bins >= narrowest_tile);
    EXPECT_EQ(of_events, bin_detail::exact);
    for (std::size_t c = 0; c < few.size(); ++c) {
      ASSERT_EQ((*coarse)[c].size(), grid.count);
      counters.expect_values(tiles->curves()[few[c]], grid, (*exact)[c]);
      for (std::size_t i = 0; i < grid.count; ++i) EXPECT_GE((*coarse)[c][i].maximum, (*exact)[c][i].maximum);
    }
  }
}

}  // namespace
}  // namespace sluice::summary
