// How the curves of a track are drawn: as areas only if their values are known at all times.
#include "app/gui/views/lanes/series_lanes.hpp"

#include <gtest/gtest.h>

#include "app/gui/window/glossary.hpp"

namespace sluice::gui {
namespace {

using query::band_role;

query::band find_band(band_role role, trace::layer layer, bool stacked, std::vector<double> values) {
  query::band band;
  band.role = role;
  band.layer = layer;
  band.kind = trace::memory_kind::device;
  band.stacked = stacked;
  for (const double value : values) band.bins.push_back(query::bin::constant(value));
  return band;
}

query::series device_memory() {
  query::series series;
  series.range = {0, 100};
  series.bands = {find_band(band_role::used, trace::layer::driver, true, {100, 100}),
                  find_band(band_role::untracked, trace::layer::driver, true, {50, 50}),
                  find_band(band_role::total, trace::layer::driver, false, {150, 150}),
                  find_band(band_role::used, trace::layer::framework, false, {40, 60})};
  return series;
}

TEST(series_lanes, fill_what_the_highest_layer_uses_and_outline_what_it_reserved) {
  const auto lanes = list_lanes(device_memory(), query::track_kind::memory);
  ASSERT_EQ(lanes.size(), 2U);
  ASSERT_EQ(lanes[0].levels.size(), 2U);
  EXPECT_EQ(lanes[0].levels[0].bands, (std::vector<std::size_t>{3}));
  EXPECT_EQ(lanes[0].levels[0].mark, band_mark::area);
  EXPECT_EQ(lanes[0].levels[1].bands, (std::vector<std::size_t>{0}));
  EXPECT_EQ(lanes[0].levels[1].mark, band_mark::outline);
  EXPECT_EQ(brief(device_memory().bands[0], band_mark::outline), "Reserved (driver)");
}

TEST(series_lanes, fill_the_drivers_memory_if_no_layer_is_above_it) {
  query::series only;
  only.bands = {find_band(band_role::used, trace::layer::driver, true, {100})};
  const auto lanes = list_lanes(only, query::track_kind::memory);
  ASSERT_EQ(lanes.size(), 1U);
  EXPECT_EQ(lanes[0].levels.at(0).mark, band_mark::area);
}

TEST(series_lanes, draw_samples_as_dots_in_a_lane_of_their_own) {
  const auto lanes = list_lanes(device_memory(), query::track_kind::memory);
  ASSERT_EQ(lanes.size(), 2U);
  std::vector<std::size_t> bands;
  for (const band_stack& each : lanes[1].levels) {
    EXPECT_EQ(each.mark, band_mark::dots);
    bands.insert(bands.end(), each.bands.begin(), each.bands.end());
  }
  EXPECT_EQ(bands, (std::vector<std::size_t>{1, 2})) << "bottom first: the total is the highest";
  query::series counter;
  counter.bands = {find_band(band_role::value, trace::layer::driver, false, {1, 2})};
  EXPECT_EQ(list_lanes(counter, query::track_kind::counter).at(0).levels.at(0).mark, band_mark::dots);
}

TEST(series_lanes, outline_what_a_pool_reserved) {
  query::series pool;
  pool.bands = {find_band(band_role::reserved, trace::layer::driver, false, {100}),
                find_band(band_role::used, trace::layer::driver, false, {30})};
  const auto lanes = list_lanes(pool, query::track_kind::pool);
  EXPECT_EQ(lanes.at(0).levels.at(0).bands, (std::vector<std::size_t>{1})) << "in front";
  EXPECT_EQ(lanes.at(0).levels.at(0).mark, band_mark::area);
  EXPECT_EQ(lanes.at(0).levels.at(1).mark, band_mark::outline);
}

TEST(series_lanes, give_each_direction_a_lane_with_the_rate_while_copying) {
  query::series rates;
  rates.bands = {find_band(band_role::value, trace::layer::driver, false, {10}),
                 find_band(band_role::value, trace::layer::driver, false, {10})};
  rates.bands[0].direction = trace::direction::h2d;
  rates.bands[1].direction = trace::direction::d2h;
  rates.bands[0].bins[0] = {0, 50, 10, 50};
  rates.bands[0].busy = {0.25F};
  EXPECT_EQ(list_lanes(rates, query::track_kind::bandwidth).size(), 2U);
  EXPECT_DOUBLE_EQ(compute_height(rates.bands[0], 0, query::track_kind::bandwidth), 40)
      << "10 on average in 25 % of the time";
  rates.bands[0].busy = {0.1F};
  EXPECT_DOUBLE_EQ(compute_height(rates.bands[0], 0, query::track_kind::bandwidth), 50)
      << "never above the highest rate";
  EXPECT_DOUBLE_EQ(compute_height(rates.bands[1], 0, query::track_kind::bandwidth), 10)
      << "the mean if there are no shares";
  EXPECT_DOUBLE_EQ(compute_height(rates.bands[1], 7, query::track_kind::bandwidth), 0) << "there is no such bin";
}

TEST(series_lanes, name_a_term_of_the_glossary_for_each_band) {
  query::series series = device_memory();
  series.bands.push_back(find_band(band_role::recorder, trace::layer::driver, true, {1}));
  series.bands.push_back(find_band(band_role::reserved, trace::layer::driver, false, {1}));
  series.bands.push_back(find_band(band_role::value, trace::layer::driver, false, {1}));
  for (std::size_t i = 0; i < trace::memory_kind_count; ++i) {
    series.bands.push_back(find_band(band_role::used, trace::layer::driver, true, {1}));
    series.bands.back().kind = static_cast<trace::memory_kind>(i);
  }
  for (const query::band& each : series.bands)
    for (const band_mark mark : {band_mark::area, band_mark::outline, band_mark::dots})
      EXPECT_NE(find_term(get_term(each, mark)), nullptr) << static_cast<int>(each.role);
}

}  // namespace
}  // namespace sluice::gui
