// What the charts of the panels contain, without a display.
#include <gtest/gtest.h>

#include <cmath>

#include "app/gui/views/idle/gap_lengths_chart.hpp"
#include "app/gui/views/memory_map/holes_strip.hpp"
#include "app/gui/views/memory_over_time/block_shapes.hpp"
#include "app/gui/views/memory_over_time/group_chart.hpp"
#include "app/gui/views/statistics/duration_chart.hpp"
#include "app/gui/views/statistics/step_table.hpp"
#include "app/gui/views/transfers/copy_chart.hpp"
#include "app/gui/views/what_if_replay.hpp"
#include "core/query/types/result_types.hpp"
#include "tests/core/recordings/recording.hpp"

namespace sluice::gui {
namespace {

using testing::mib;

const theme& colours() { return get_theme(theme_kind::dark); }

chart_pointer at_item(std::uint32_t item, double x = 0) { return {.x = x, .series = 0, .item = item}; }

TEST(duration_model, has_a_bar_for_each_length_and_marks_the_median) {
  query::duration_histogram histogram;
  histogram.kind = trace::row_type::kernel;
  histogram.bars = {{1024, 1280, 3, {}, {}}, {1280, 1536, 0, {}, {}}, {1536, 1792, 5, {}, {}}};
  histogram.count = 8;
  histogram.median = 1600;
  const chart_model model = make_durations_model(histogram, colours());
  ASSERT_EQ(model.series.size(), 1U);
  EXPECT_EQ(model.series[0].points[2].high, 5);
  EXPECT_EQ(model.x.to_share(1024), 0);
  EXPECT_EQ(model.x.to_share(1792), 1);
  ASSERT_EQ(model.marks.size(), 2U);
  EXPECT_EQ(model.marks[0].label, "median");
  EXPECT_EQ(model.marks[0].at, 1600);
  EXPECT_EQ(model.tip(at_item(0)).text(), "1.02 µs to 1.28 µs\n3 kernels, 38 %\n");
  EXPECT_TRUE(model.tip({}).empty());
}

TEST(duration_model, of_no_events_is_empty) { EXPECT_TRUE(make_durations_model({}, colours()).series.empty()); }

TEST(steps_model, shows_outliers_in_another_colour_and_leaves_out_what_is_unknown) {
  query::step_statistics statistics;
  for (std::int64_t i = 0; i < 6; ++i) statistics.steps.emplace_back().number = i + 10;
  query::step_metric metric;
  metric.unit = query::metric_unit::time;
  metric.values = {300e6, 7e6, 8e6, NAN, 7e6, 7e6};
  metric.median = 7e6;
  metric.outliers = {0};
  chart_model model = make_steps_model(statistics, metric, colours());
  const auto& bars = model.series.at(0).points;
  ASSERT_EQ(bars.size(), 6U);
  EXPECT_EQ(bars[0].colour, colours().warning);
  EXPECT_EQ(bars[3].high, 0);
  EXPECT_EQ(model.x.name(0), "10") << "the step's own number";
  EXPECT_EQ(model.fit(value_scale::clipped), value_scale::clipped) << "the first step does not flatten the rest";
  EXPECT_EQ(model.cut_off(), 1U);
  EXPECT_EQ(model.tip(at_item(0)).text(), "Step 10\n300 ms  +4186 %\nAn outlier.\n");
}

TEST(gap_lengths_model, has_a_bar_for_each_doubling_from_the_shortest_to_the_longest_gap) {
  metrics::gap_lengths lengths;
  lengths.bins[10] = {2, 2'500};
  lengths.bins[13] = {1, 9'000};
  const chart_model model = make_gap_lengths_model(lengths, colours());
  ASSERT_EQ(model.series.size(), 1U);
  ASSERT_EQ(model.series[0].points.size(), 4U);
  EXPECT_EQ(model.x.low, 1024);
  EXPECT_EQ(model.x.high, 16384);
  EXPECT_EQ(model.tip(at_item(10)).text(), "1.02 µs to 2.05 µs\ngaps\t2\nidle\t2.50 µs\n");
  EXPECT_TRUE(model.tip(at_item(11)).empty()) << "no gap is that long";
  EXPECT_TRUE(make_gap_lengths_model({}, colours()).series.empty());
}

metrics::copy_table make_copies() {
  metrics::copy_table table;
  const auto add = [&](std::uint64_t size, double rate, trace::memory_kind side) {
    metrics::copy_cell& cell = table.cells.emplace_back();
    cell.device = trace::device_id{1};
    cell.direction = trace::direction::h2d;
    cell.host_side = side;
    cell.size = size;
    cell.rate = rate;
    cell.count = 1;
  };
  add(1024, 1e9, trace::memory_kind::pinned);
  add(1100, 2e9, trace::memory_kind::host);
  add(mib, 5e10, trace::memory_kind::pinned);
  return table;
}

TEST(copies_model, names_each_kind_of_memory_once_and_joins_the_fastest_of_each_size) {
  const metrics::copy_table table = make_copies();
  const chart_model model = make_copies_model(table, {}, std::nullopt, colours());
  ASSERT_EQ(model.series.size(), 3U);
  EXPECT_EQ(model.series[0].points.size(), 2U) << "pinned";
  EXPECT_EQ(model.series[1].points.size(), 1U) << "pageable";
  EXPECT_NE(model.series[0].colour, model.series[1].colour);
  ASSERT_EQ(model.series[2].points.size(), 2U);
  EXPECT_EQ(model.series[2].points[0].high, 2e9) << "the faster of two copies of about 1 KiB";
  for (const metrics::copy_cell& each : table.cells) {
    EXPECT_GT(model.x.to_share(static_cast<double>(each.size)), 0);
    EXPECT_LT(model.y.to_share(each.rate), 1);
  }
}

TEST(copies_model, marks_the_peak_of_the_link) {
  const metrics::copy_table table = make_copies();
  metrics::range_statistics statistics;
  metrics::transfer_statistics& way = statistics.transfers.emplace_back();
  way.device = trace::device_id{1};
  way.direction = trace::direction::h2d;
  way.link_peak = 63e9;
  const chart_model model = make_copies_model(table, statistics, std::nullopt, colours());
  ASSERT_EQ(model.marks.size(), 1U) << "nothing was measured to be attainable";
  EXPECT_EQ(model.marks[0].label, "link's peak 63.0 GB/s");
  EXPECT_LT(model.y.to_share(63e9), 1);
  const copy_way other{trace::device_id{2}, trace::direction::h2d};
  EXPECT_TRUE(make_copies_model(table, statistics, other, colours()).marks.empty());
}

class what_if_model : public ::testing::Test {
 protected:
  what_if_model() {
    curves.span = {0, 1'000'000};
    for (const char* name : {"native", "expandable_segments:True"}) {
      query::replayed_policy& policy = allocator.policies.emplace_back();
      policy.policy = name;
      policy.reserved.assign(query::what_if_curves::parts, allocator.policies.size() == 1 ? 64 * mib : 40 * mib);
      policy.metrics.peak_reserved = policy.reserved[0];
    }
  }
  query::what_if_curves curves;
  query::replayed_allocator allocator;
};

TEST_F(what_if_model, tells_the_bytes_under_each_setting_from_high_to_low) {
  const chart_model model = make_what_if_model(curves, allocator, {}, std::nullopt, colours());
  EXPECT_EQ(model.series.size(), 2U);
  const std::string words = model.tip({.x = 500'000}).text();
  EXPECT_NE(words.find("reserved at "), std::string::npos) << words;
  EXPECT_NE(words.find("current\t64.0 MiB\nexpandable_segments:True\t40.0 MiB"), std::string::npos) << words;
}

TEST_F(what_if_model, leaves_out_a_hidden_setting) {
  const chart_model model = make_what_if_model(curves, allocator, {true}, std::nullopt, colours());
  EXPECT_EQ(model.series.size(), 1U);
  const std::string words = model.tip({.x = 500'000}).text();
  EXPECT_EQ(words.find("current"), std::string::npos) << words;
  EXPECT_NE(words.find("expandable_segments:True"), std::string::npos) << words;
}

TEST_F(what_if_model, dims_all_but_the_highlighted_setting) {
  const chart_model model = make_what_if_model(curves, allocator, {}, 1, colours());
  EXPECT_EQ(model.series.back().colour, policy_colour(1, colours())) << "in front";
  EXPECT_NE(model.series.front().colour, policy_colour(0, colours()));
}

memory_bands make_bands(bool nested) {
  memory_bands bands;
  bands.range = {1'000, 4'000};
  bands.nested = nested;
  bands.bands.resize(2);
  bands.bands[0].key = 1;
  bands.bands[0].bytes = {4, 4, 2};
  bands.bands[1].key = 2;
  bands.bands[1].bytes = {0, 3, 1};
  return bands;
}

TEST(memory_bands_model, lie_on_top_of_one_another) {
  const auto series = make_band_series(make_bands(false));
  ASSERT_EQ(series.size(), 2U);
  ASSERT_EQ(series[0].points.size(), 2U) << "parts of equal height are one box";
  EXPECT_EQ(series[0].points[0].end, 2'000) << "ns since the start of the range";
  ASSERT_EQ(series[1].points.size(), 2U) << "nothing where the group holds nothing";
  EXPECT_EQ(series[1].points[0].low, 4);
  EXPECT_EQ(series[1].points[0].high, 7);
  EXPECT_EQ(band_at(make_bands(false), 1, 5)->key, 2U);
  EXPECT_EQ(band_at(make_bands(false), 1, 3)->key, 1U);
  EXPECT_EQ(band_at(make_bands(false), 1, 8), nullptr);
}

TEST(memory_bands_model, of_layers_contain_one_another) {
  const auto series = make_band_series(make_bands(true));
  EXPECT_EQ(series[1].points[0].low, 0);
  EXPECT_EQ(band_at(make_bands(true), 1, 2)->key, 2U) << "the innermost";
  EXPECT_EQ(band_at(make_bands(true), 1, 4)->key, 1U);
}

TEST(block_shapes_model, has_a_box_of_each_piece) {
  shaped_block one{.block = trace::block_id{5}, .born = 0, .died = 50, .bytes = 10, .colour = 1};
  shaped_block two{.block = trace::block_id{6}, .born = 20, .died = 200, .bytes = 5, .colour = 2};
  const chart_series series = make_shape_series(lay_out({one, two}, {0, 100}, 100));
  ASSERT_EQ(series.points.size(), 3U);
  EXPECT_TRUE(series.points[0].ends) << "the block is freed there";
  EXPECT_FALSE(series.points[1].ends) << "it moves down";
  EXPECT_EQ(series.points[1].low, 10);
  EXPECT_EQ(series.points[2].low, 0);
  EXPECT_EQ(series.points[2].item, 1U);
}

TEST(holes_model, shows_the_layer_with_most_free_bytes) {
  query::hole_curve curve;
  curve.range = {0, 400};
  for (int i = 0; i < 4; ++i) {
    query::hole_sample& sample = curve.samples.emplace_back();
    sample.time = i * 100;
    sample.layers[2] = {64, static_cast<std::uint64_t>(10 * i), static_cast<std::uint64_t>(4 * i)};
  }
  EXPECT_EQ(layer_with_most_free(curve), 2U);
  const chart_model model = make_holes_model(curve, 4, 2, colours());
  ASSERT_EQ(model.series.size(), 2U);
  EXPECT_EQ(model.series[0].points[3].high, 30);
  EXPECT_EQ(model.series[1].points.size(), 3U) << "no hole in the first sample";
  const std::string words = model.tip(at_item(3)).text();
  EXPECT_NE(words.find("largest hole\t12 B"), std::string::npos) << words;
}

}  // namespace
}  // namespace sluice::gui
