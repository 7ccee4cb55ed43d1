#include "core/summary/tiles/stored_tiles.hpp"
#include "core/index/growing_index.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <map>
#include <numbers>
#include <numeric>
#include <random>

#include "core/index/tensor_facts.hpp"
#include "core/summary/passes/finalize.hpp"
#include "core/summary/sections/section_reader.hpp"
#include "core/summary/stored/stored_metrics.hpp"
#include "core/trace/columns/codec.hpp"
#include "core/trace/file/layout.hpp"
#include "tests/core/recordings/each_seed.hpp"
#include "tests/core/recordings/recording.hpp"

namespace sluice::summary {
namespace {

/// A recording with events of every kind that is drawn, in random order in small chunks: bursts and long pauses, long
/// and short slices.
class random_recording {
 public:
  explicit random_recording(std::uint64_t seed) : random_(seed), made_(1 + seed % 60), span_(2'000 << (seed % 14)) {
    made_.standard_tables();
    std::vector<std::function<void()>> rows;
    for (int i = 0; i < 300; ++i) add_block(rows);
    for (int i = 0; i < 200; ++i) add_work(rows);
    for (int i = 0; i < 60; ++i) add_samples(rows);
    std::shuffle(rows.begin(), rows.end(), random_);
    for (const auto& add : rows) add();
  }

  trace::file_writer& writer() { return made_.writer(); }
  const std::string& path() const { return made_.path(); }
  time_ns span() const { return span_; }
  time_ns any_time() {
    const time_ns time = static_cast<time_ns>(random_() % static_cast<std::uint64_t>(span_));
    return random_() % 3 == 0 ? time : time / 16 + span_ / 3;  // Most events are in a sixteenth of the time.
  }
  std::mt19937_64& random() { return random_; }

 private:
  void add_block(std::vector<std::function<void()>>& rows) {
    trace::alloc_event alloc;
    alloc.time = any_time();
    alloc.block = static_cast<trace::block_id>(++blocks_);
    alloc.process = trace::process_id{1};
    alloc.device = trace::device_id{1};
    alloc.layer = random_() % 2 == 0 ? trace::layer::driver : trace::layer::framework;
    alloc.kind = random_() % 4 == 0 ? trace::memory_kind::pinned : trace::memory_kind::device;
    alloc.pool = random_() % 3 == 0 ? trace::pool_id{1} : trace::pool_id::none;
    alloc.bytes = random_() % 1000;
    rows.emplace_back([this, alloc] { writer().add(alloc); });
    if (random_() % 6 == 0) return;
    trace::free_event free;
    free.block = alloc.block;
    free.process = alloc.process;
    free.layer = alloc.layer;
    free.time = alloc.time + static_cast<time_ns>(random_() % static_cast<std::uint64_t>(span_ / 5));
    rows.emplace_back([this, free] { writer().add(free); });
  }

  void add_work(std::vector<std::function<void()>>& rows) {
    const time_ns begin = any_time();
    const auto lasting = [&] {
      return begin + static_cast<time_ns>(random_() % static_cast<std::uint64_t>(random_() % 9 == 0 ? span_ / 3 : 40));
    };
    trace::kernel_event kernel;
    kernel.time = begin;
    kernel.end = lasting();
    kernel.process = trace::process_id{1};
    kernel.device = trace::device_id{1};
    kernel.stream = static_cast<trace::stream_id>(1 + random_() % 2);
    kernel.name = made_.text("kernel " + std::to_string(random_() % 4));
    rows.emplace_back([this, kernel] { writer().add(kernel); });
    trace::transfer_event copy;
    copy.time = begin;
    copy.end = random_() % 50 == 0 ? trace::unknown_time : lasting();
    copy.process = trace::process_id{1};
    copy.device = trace::device_id{1};
    copy.stream = trace::stream_id{1};
    copy.bytes = random_() % 100'000;
    copy.direction = random_() % 2 == 0 ? trace::direction::h2d : trace::direction::d2h;
    rows.emplace_back([this, copy] { writer().add(copy); });
    trace::host_range_event range;
    range.time = begin;
    range.end = lasting();
    range.process = trace::process_id{1};
    range.thread = trace::thread_id{1};
    range.name = made_.text("range " + std::to_string(random_() % 4));
    rows.emplace_back([this, range] { writer().add(range); });
  }

  void add_samples(std::vector<std::function<void()>>& rows) {
    trace::pool_event pool;
    pool.time = any_time();
    pool.pool = trace::pool_id{1};
    pool.reserved = random_() % 5000;
    pool.used = random_() % 4000;
    rows.emplace_back([this, pool] { writer().add(pool); });
    trace::counter_event counter;
    counter.time = any_time();
    counter.counter = trace::counter_id{1};
    counter.value = static_cast<double>(random_() % 1000) / 8 - 20;
    rows.emplace_back([this, counter] { writer().add(counter); });
  }

  std::mt19937_64 random_;
  testing::recording made_;
  time_ns span_;
  std::uint64_t blocks_ = 0;
};

/// A finished recording, and its index as the reference.
struct reference {
  explicit reference(std::uint64_t seed) : recorded(seed) {
    EXPECT_TRUE(finalize(recorded.writer(), {1, static_cast<double>(20 + seed % 200)}));
    const auto trace = trace::file::open(recorded.path()).value()->latest();
    while (!all->absorb(*trace, SIZE_MAX)) {
    }
    reported = recorded.random();
  }
  random_recording recorded;
  std::shared_ptr<index::growing_index> all = std::make_shared<index::growing_index>();
  std::mt19937_64 reported;  ///< State of the random generator after all events were added.
};

/// Built once and shared by all properties: building it takes longer than checking it.
reference& get_reference(std::uint64_t seed) {
  static std::map<std::uint64_t, reference> table;
  reference& found = table.try_emplace(seed, seed).first->second;
  found.recorded.random() = found.reported;
  return found;
}

/// The recording of a seed, and its tiles, none of which have been read.
struct finished {
  explicit finished(std::uint64_t seed) : subject(get_reference(seed)) {
    trace = trace::file::open(recorded.path()).value()->latest();
    whole = index::recorded_range(*trace);
    tiles = stored_tiles::of(trace);
  }
  bin_grid any_grid() {
    time_ns a = recorded.any_time() - 10;
    time_ns b = recorded.any_time() + 10;
    if (recorded.random()() % 4 == 0) a = -recorded.span(), b = 2 * recorded.span();
    if (a > b) std::swap(a, b);
    return tiles->grid_over({a, b + 1}, 1 + static_cast<std::uint32_t>(recorded.random()() % 300));
  }

  reference& subject;
  random_recording& recorded = subject.recorded;
  std::shared_ptr<index::event_store> all = subject.all;
  std::shared_ptr<const trace::snapshot> trace;
  time_range whole;
  std::shared_ptr<const stored_tiles> tiles;
};

TEST(stored_tiles_of_any_recording, list_what_the_index_lists) {
  testing::for_each_seed(0, 20, [](std::uint64_t seed) {
    finished finished_recording(seed);
    ASSERT_NE(finished_recording.tiles, nullptr);
    const auto facts = finished_recording.all->tensors(*finished_recording.trace);
    const auto curves = index::make_curves(*finished_recording.all, facts.get(), finished_recording.whole);
    ASSERT_EQ(finished_recording.tiles->curves().size(), curves.size());
    for (std::size_t i = 0; i < curves.size(); ++i) {
      EXPECT_TRUE(index::same_curve(finished_recording.tiles->curves()[i], curves[i].about));
      EXPECT_EQ(finished_recording.tiles->curves()[i].maximum, curves[i].about.maximum);
    }
    std::uint64_t events = 0;
    for (std::size_t i = 0; i < finished_recording.tiles->sections()->size(); ++i)
      events += finished_recording.tiles->sections()->events(i);
    EXPECT_NEAR(static_cast<double>(events), static_cast<double>(finished_recording.recorded.writer().events()),
                0.2 * static_cast<double>(finished_recording.recorded.writer().events()) + 100);
  });
}

/// Precision of means in tiles: relative to the height above the minimum for integers, to the value itself for other
/// numbers.
double rounding_of_mean(double minimum, double maximum) {
  return (maximum - minimum) / 2048 + 1e-6 * std::max(std::abs(minimum), std::abs(maximum));
}

/// Expects each bin to equal the index's values for the same time.
void expect_bins_of_the_index(finished& finished_recording, const bin_grid& grid,
                              const std::vector<std::vector<timeline::sampled_bin>>& bins) {
  const auto facts = finished_recording.all->tensors(*finished_recording.trace);
  const auto curves = index::make_curves(*finished_recording.all, facts.get(), finished_recording.whole);
  for (std::size_t c = 0; c < curves.size(); ++c) {
    curves[c].split(grid.range(), grid.count, [&](std::uint32_t i, const timeline::extent& part, double) {
      const timeline::sampled_bin& bin = bins[c][i];
      ASSERT_EQ(bin.minimum, part.minimum) << "curve " << c << " bin " << i;
      ASSERT_EQ(bin.maximum, part.maximum) << "curve " << c << " bin " << i;
      const double mean = part.integral / static_cast<double>(part.length);
      const double adding_up = 1e-9 * (curves[c].about.maximum + 1);
      ASSERT_NEAR(bin.mean, mean, rounding_of_mean(part.minimum, part.maximum) + adding_up) << "curve " << c;
      ASSERT_GE(bin.mean, bin.minimum - adding_up) << "curve " << c << " bin " << i;
      ASSERT_LE(bin.mean, bin.maximum + adding_up) << "curve " << c << " bin " << i;
    });
  }
}

/// The highest sum in any ns of the range, over the curves that count in a stack.
double highest_sum(const std::vector<index::index_curve>& curves, std::span<const std::uint32_t> counted,
                   time_range over) {
  double highest = -std::numeric_limits<double>::infinity();
  for (time_ns t = over.begin; t < over.end; ++t) {
    double sum = 0;
    for (const std::uint32_t curve : counted) sum += curves[curve].at(t);
    highest = std::max(highest, sum);
  }
  return highest;
}

/// Expects the values of each stack at its peak to be possible: no curve may exceed its maximum, and the sum of the
/// curves may not exceed the highest use in the bin or be below the minimum of any curve.
void expect_possible_peaks(finished& finished_recording, const bin_grid& grid,
                           const std::vector<std::vector<timeline::sampled_bin>>& bins) {
  const auto facts = finished_recording.all->tensors(*finished_recording.trace);
  const auto curves = index::make_curves(*finished_recording.all, facts.get(), finished_recording.whole);
  const index::curve_stacks stacks(finished_recording.tiles->curves(), finished_recording.trace->tables());
  const double rounding = 1e-3;
  for (std::size_t s = 0; s < stacks.size(); ++s) {
    for (std::uint32_t i = 0; i < grid.count; ++i) {
      const time_ns begin = grid.begin + static_cast<time_ns>(i) * grid.bin();
      double sum = 0, highest = -std::numeric_limits<double>::infinity();
      for (const std::uint32_t curve : stacks.counted()[s]) {
        sum += bins[curve][i].at_peak;
        highest = std::max(highest, bins[curve][i].maximum);
        ASSERT_LE(bins[curve][i].at_peak, bins[curve][i].maximum);
        ASSERT_GE(bins[curve][i].at_peak, bins[curve][i].minimum);
      }
      ASSERT_GE(sum, highest - rounding) << "stack " << s << " bin " << i;
      ASSERT_LE(sum, highest_sum(curves, stacks.counted()[s], {begin, begin + grid.bin()}) + rounding)
          << "stack " << s << " bin " << i;
    }
  }
}

TEST(stored_tiles_of_any_recording, stack_curves_as_they_were_at_one_moment) {
  testing::for_each_seed(0, 20, [](std::uint64_t seed) {
    finished finished_recording(seed);
    ASSERT_NE(finished_recording.tiles, nullptr);
    if (finished_recording.recorded.span() > 10'000) return;  // The reference checks every ns.
    std::vector<std::uint32_t> curves(finished_recording.tiles->curves().size());
    std::iota(curves.begin(), curves.end(), 0U);
    const auto section_index = [&](std::span<const std::size_t> sections) {
      return std::vector<std::shared_ptr<const index::event_store>>(sections.size(), finished_recording.all);
    };
    for (int i = 0; i < 4; ++i) {
      const bin_grid grid = finished_recording.any_grid();
      auto detail = bin_detail::exact;
      const auto of_tiles = finished_recording.tiles->sample(curves, grid, {}, detail);
      ASSERT_TRUE(of_tiles.has_value());
      if (detail == bin_detail::exact) expect_possible_peaks(finished_recording, grid, *of_tiles);
      const auto of_sections = finished_recording.tiles->sample(curves, grid, {section_index, true}, detail);
      ASSERT_TRUE(of_sections.has_value());
      expect_possible_peaks(finished_recording, grid, *of_sections);
    }
  });
}

TEST(stored_tiles_of_any_recording, sample_curves_exactly_at_any_zoom) {
  testing::for_each_seed(0, 20, [](std::uint64_t seed) {
    finished finished_recording(seed);
    ASSERT_NE(finished_recording.tiles, nullptr);
    std::vector<std::uint32_t> curves(finished_recording.tiles->curves().size());
    for (std::size_t i = 0; i < curves.size(); ++i) curves[i] = static_cast<std::uint32_t>(i);
    int from_tiles = 0;
    for (int i = 0; i < 15; ++i) {
      const bin_grid grid = finished_recording.any_grid();
      auto detail = bin_detail::exact;
      const auto plain = finished_recording.tiles->sample(curves, grid, {}, detail);
      ASSERT_TRUE(plain);
      if (detail == bin_detail::exact) {
        ++from_tiles;
        expect_bins_of_the_index(finished_recording, grid, *plain);
      }
      const auto exact = finished_recording.tiles->sample(
          curves, grid, {[&](std::span<const std::size_t> sections) {
            return std::vector<std::shared_ptr<const index::event_store>>(sections.size(), finished_recording.all);
          }},
          detail);
      ASSERT_TRUE(exact);
      expect_bins_of_the_index(finished_recording, grid, *exact);
    }
    EXPECT_GT(from_tiles, 0);
  });
}

TEST(stored_tiles_of_any_recording, draw_from_wider_tiles_at_hand_until_narrower_ones_are_read) {
  testing::for_each_seed(0, 20, [](std::uint64_t seed) {
    finished finished_recording(seed);
    ASSERT_NE(finished_recording.tiles, nullptr);
    std::vector<std::uint32_t> curves(finished_recording.tiles->curves().size());
    for (std::size_t i = 0; i < curves.size(); ++i) curves[i] = static_cast<std::uint32_t>(i);
    for (time_range range = finished_recording.whole; range.length() > 100;
         range = {range.begin + range.length() / 7, range.end - range.length() / 9}) {
      const bin_grid grid = finished_recording.tiles->grid_over(range, 300);
      auto first = bin_detail::exact;
      const auto soon = finished_recording.tiles->sample(curves, grid, {{}, false}, first);
      auto then = bin_detail::exact;
      const auto later = finished_recording.tiles->sample(curves, grid, {}, then);
      auto again = bin_detail::exact;
      const auto kept = finished_recording.tiles->sample(curves, grid, {{}, false}, again);
      ASSERT_TRUE(soon && later && kept);
      EXPECT_EQ(again, then) << "everything needed is loaded now";
      EXPECT_GE(first, then);
      for (std::size_t c = 0; c < curves.size(); ++c) {
        const double rounding = 1e-9 * finished_recording.tiles->curves()[c].maximum;
        for (std::size_t i = 0; i < grid.count; ++i) {
          ASSERT_LE((*soon)[c][i].minimum, (*later)[c][i].minimum + rounding) << "a wider bin has wider extremes";
          ASSERT_GE((*soon)[c][i].maximum, (*later)[c][i].maximum - rounding);
          ASSERT_EQ((*kept)[c][i].mean, (*later)[c][i].mean);
        }
      }
    }
  });
}

TEST(stored_tiles_of_any_recording, find_bins_for_the_pixels_of_a_view_of_all) {
  testing::for_each_seed(0, 20, [](std::uint64_t seed) {
    finished finished_recording(seed);
    ASSERT_NE(finished_recording.tiles, nullptr);
    auto detail = bin_detail::exact;
    EXPECT_TRUE(finished_recording.tiles->sample({}, finished_recording.tiles->grid_over(finished_recording.whole, 500),
                                                 {}, detail));
    EXPECT_EQ(detail, bin_detail::exact);
  });
}

TEST(stored_tiles_of_any_recording, have_bins_as_near_to_a_pixel_as_they_can) {
  testing::for_each_seed(0, 20, [](std::uint64_t seed) {
    finished finished_recording(seed);
    ASSERT_NE(finished_recording.tiles, nullptr);
    std::mt19937_64& random = finished_recording.recorded.random();
    for (int i = 0; i < 100; ++i) {
      const time_ns begin = finished_recording.recorded.any_time();
      const time_range range{
          begin,
          begin + 1 + static_cast<time_ns>(random() % static_cast<std::uint64_t>(finished_recording.recorded.span()))};
      const auto width = 16 + static_cast<std::uint32_t>(random() % 3000);
      const bin_grid grid = finished_recording.tiles->grid_over(range, width);
      EXPECT_LE(grid.range().begin, range.begin);
      EXPECT_GE(grid.range().end, range.end);
      const auto pixel = static_cast<double>(std::max<time_ns>(1, range.length() / width));
      const double ratio = static_cast<double>(grid.bin()) / pixel;
      EXPECT_LE(ratio, std::numbers::sqrt2);
      EXPECT_GE(ratio, std::numbers::sqrt2 / 2);
      EXPECT_LE(grid.count, 2 * width + 2);
      if (grid.level == 0) continue;
      const time_ns of_smaller = finished_recording.tiles->longest_of_smaller(range, width);
      EXPECT_EQ(finished_recording.tiles->grid_over({begin, begin + of_smaller}, width).level, grid.level - 1);
      EXPECT_EQ(finished_recording.tiles->grid_over({begin, begin + of_smaller + width}, width).level, grid.level)
          << "where a pixel is a ns longer";
    }
    EXPECT_LT(finished_recording.tiles->grid_over({INT64_MIN, INT64_MAX}, 100).count, 2000U)
        << "the recording is a dot in it";
  });
}

TEST(stored_tiles_of_any_recording, draw_every_slice) {
  testing::for_each_seed(0, 20, [](std::uint64_t seed) {
    finished finished_recording(seed);
    ASSERT_NE(finished_recording.tiles, nullptr);
    for (std::uint32_t first = 0; first < finished_recording.tiles->lanes().size(); ++first) {
      if (finished_recording.tiles->lanes()[first].depth != 0) continue;
      for (int i = 0; i < 5; ++i) {
        // The whole range, so that slices are not cut and each is counted.
        const bin_grid grid = finished_recording.tiles->grid_over(
            {finished_recording.whole.begin - 10, finished_recording.whole.end + 10},
            10 + static_cast<std::uint32_t>(finished_recording.recorded.random()() % 400));
        auto detail = bin_detail::exact;
        std::vector<timeline::drawn_slice> drawn;
        ASSERT_TRUE(finished_recording.tiles->draw(first, grid, {}, detail, drawn));
        std::uint64_t count = 0;
        double busy = 0;
        std::uint64_t bytes = 0;
        for (const timeline::drawn_slice& slice : drawn) {
          count += slice.count;
          bytes += slice.item.bytes;
          busy += static_cast<double>(slice.busy) * static_cast<double>(slice.item.end - slice.item.begin);
        }
        const auto facts = finished_recording.all->tensors(*finished_recording.trace);
        for (const index::index_slices& owner : index::get_slices(*finished_recording.all, facts.get())) {
          if (!index::same_owner(owner.about, finished_recording.tiles->lanes()[first])) continue;
          std::uint64_t slices = 0;  // If there are too few lanes, the tile omits some slices.
          double really = 0;
          std::uint64_t really_bytes = 0;
          owner.slices->for_each(INT64_MIN / 2, INT64_MAX / 2, [&](const timeline::slice_item& item, std::uint16_t) {
            const time_ns end = item.end == latest_time ? std::max(item.begin, finished_recording.whole.end) : item.end;
            ++slices;
            really += static_cast<double>(end - item.begin);
            really_bytes += item.bytes;
          });
          // A slice that starts in the bin of a longer one and continues after it is drawn again by itself.
          EXPECT_GE(count, slices);
          EXPECT_LE(count, slices + drawn.size() / 2);
          EXPECT_NEAR(busy, really, 1e-4 * really + 1);
          const bool has_bytes = owner.about.type != trace::lane_kind::steps;  // Steps have numbers instead.
          EXPECT_EQ(has_bytes ? bytes : 0, has_bytes ? really_bytes : 0);
        }
      }
    }
  });
}

/// Fixture with consecutive steps of equal length, which come from marks, or are inferred from allocations and then
/// have no event.
class steps_in_tiles : public ::testing::TestWithParam<bool> {
 protected:
  static constexpr int steps = 12;
  static constexpr time_ns step_length = 100'000;

  steps_in_tiles() {
    recorded.standard_tables();
    std::uint64_t block = 0;
    for (int step = 0; step < steps; ++step) {
      const time_ns begin = step * step_length;
      if (GetParam()) {
        auto mark = recorded.event<trace::marker_event>(begin);
        mark.step = step + 5;
        recorded.writer().add(mark);
      }
      for (int i = 0; i < 20; ++i) {
        recorded.add_alloc(begin + 10 + i * 1000, ++block, 256 * static_cast<std::uint64_t>(i + 1));
        recorded.add_free(begin + 50'000 + i * 1000, block);
      }
    }
    EXPECT_TRUE(finalize(recorded.writer(), {1, 60}));
    trace = recorded.open()->latest();
    tiles = stored_tiles::of(trace);
    store = section_reader::open(trace, get_steps(*find_stored_metrics(*trace), trace)).value();
    index::growing_index growing_index;
    growing_index.absorb(*trace, SIZE_MAX);
    for (const auto& [process, list] : growing_index.tensors(*trace)->steps->lists()) expected = list.steps;
  }

  [[nodiscard]] std::uint32_t lane() const {
    for (const trace::lane_row& each : tiles->lanes())
      if (each.type == trace::lane_kind::steps) return each.lane;
    ADD_FAILURE() << "no lane with steps";
    return 0;
  }

  testing::recording recorded;
  std::shared_ptr<const trace::snapshot> trace;
  std::shared_ptr<const stored_tiles> tiles;
  std::shared_ptr<const section_reader> store;
  std::vector<index::step> expected;
};

INSTANTIATE_TEST_SUITE_P(all, steps_in_tiles, ::testing::Bool(),
                         [](const auto& subject) { return subject.param ? "marked" : "inferred"; });

TEST_P(steps_in_tiles, are_drawn_once_each_with_their_number) {
  ASSERT_GE(expected.size(), 8U);
  ASSERT_GE(tiles->sections()->size(), 3U);
  const auto sections = [&](std::span<const std::size_t> wanted) {
    std::vector<std::shared_ptr<const index::event_store>> stores;
    for (const std::size_t section : wanted)
      stores.push_back(store->get_index(section, section, index::section_scope::timeline).value());
    return stores;
  };
  for (const std::uint32_t width : {100U, 1000U, 20'000U}) {
    for (const bool below : {false, true}) {
      const bin_grid grid = tiles->grid_over({-10, steps * step_length}, width);
      auto detail = bin_detail::exact;
      std::vector<timeline::drawn_slice> drawn;
      ASSERT_TRUE(tiles->draw(lane(), grid, below ? bin_sources{sections} : bin_sources{}, detail, drawn));
      // Bins are as wide as those of their source, such as a section's tile if no rows below it are read.
      const time_ns bin = below ? grid.bin() : std::max<time_ns>(grid.bin(), step_length / 20);
      ASSERT_EQ(drawn.size(), expected.size()) << width << (below ? " with sections" : " of tiles");
      for (std::size_t i = 0; i < expected.size(); ++i) {
        const timeline::drawn_slice& slice = drawn[i];
        EXPECT_EQ(slice.count, 1U) << i << " at " << width;
        EXPECT_EQ(static_cast<std::int64_t>(slice.item.bytes), expected[i].number) << i << " at " << width;
        EXPECT_EQ(slice.item.event, expected[i].event);
        EXPECT_NEAR(static_cast<double>(slice.item.begin), static_cast<double>(expected[i].span.begin),
                    static_cast<double>(bin));
        EXPECT_NEAR(static_cast<double>(slice.item.end), static_cast<double>(expected[i].span.end),
                    static_cast<double>(bin));
      }
    }
  }
}

TEST(stored_tiles, are_not_there_for_a_small_recording) {
  testing::recording recorded;
  recorded.standard_tables();
  trace::marker_event mark;
  recorded.writer().add(mark);
  ASSERT_TRUE(finalize(recorded.writer()));
  EXPECT_EQ(stored_tiles::of(trace::file::open(recorded.path()).value()->latest()), nullptr);
}

TEST(stored_tiles, go_on_behind_a_bin_that_a_hostile_file_tells_of_twice) {
  constexpr time_ns length = time_ns{1} << 14, bin = length / trace::tile_bins;
  testing::recording recorded;
  recorded.standard_tables();
  recorded.writer().add_summary<trace::section_row>(std::vector<trace::section_row>{{0, length, 1}});
  trace::curve_row curve;
  curve.type = trace::curve_kind::counter;
  curve.maximum = 10;
  recorded.writer().add_summary<trace::curve_row>(std::vector<trace::curve_row>{curve});
  trace::integer_bin_row first, later;
  first.time = 5 * bin;
  first.begin = 3;
  first.rise = first.last = 4;
  later.time = 9 * bin;
  later.rise = later.last = 1;
  recorded.writer().add_summary<trace::integer_bin_row>(std::vector<trace::integer_bin_row>{first, first, later},
                                                        std::pair<time_ns, time_ns>{0, length - 1});
  ASSERT_TRUE(recorded.writer().close());
  const auto tiles = stored_tiles::of(trace::file::open(recorded.path()).value()->latest());
  ASSERT_NE(tiles, nullptr);
  const bin_grid grid = tiles->grid_over({0, length}, trace::tile_bins);
  ASSERT_EQ(grid.count, trace::tile_bins);
  auto detail = bin_detail::exact;
  const std::uint32_t total[] = {0};
  const auto bins = tiles->sample(total, grid, {}, detail);
  ASSERT_TRUE(bins);
  ASSERT_EQ((*bins)[0].size(), trace::tile_bins);
  EXPECT_EQ((*bins)[0][4].maximum, 0);
  EXPECT_EQ((*bins)[0][5].minimum, 3);
  EXPECT_EQ((*bins)[0][5].maximum, 7);
  EXPECT_EQ((*bins)[0][9].maximum, (*bins)[0][8].maximum + 1);
  EXPECT_EQ((*bins)[0][trace::tile_bins - 1].maximum, (*bins)[0][9].maximum);
}

}  // namespace
}  // namespace sluice::summary
