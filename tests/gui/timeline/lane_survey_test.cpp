// Which lanes of the timeline contain nothing, and which memory never changes.
#include "app/gui/views/timeline/lane_survey.hpp"

#include <gtest/gtest.h>

namespace sluice::gui::lane_surveys {
namespace {

using query::band_role;
using query::track_kind;

query::band make_band(band_role role, std::vector<double> values, trace::direction way = trace::direction::unknown) {
  query::band band;
  band.role = role;
  band.direction = way;
  for (const double value : values) band.bins.push_back(query::bin::constant(value));
  return band;
}

query::series make_series(std::vector<query::band> bands) {
  query::series series;
  series.range = {0, 100};
  series.bands = std::move(bands);
  return series;
}

TEST(lane_survey, looks_beyond_both_ends_of_the_view) {
  for (const time_range visible : {time_range{0, 100}, time_range{1'000'000, 1'000'777}, time_range{-90, 35}}) {
    const time_range around = choose_surroundings(visible);
    EXPECT_LE(around.begin, visible.begin - visible.length() / 2);
    EXPECT_GE(around.end, visible.end + visible.length() / 2);
    EXPECT_LE(around.length(), visible.length() * 8);
  }
}

TEST(lane_survey, keeps_its_range_while_the_view_pans_a_little) {
  EXPECT_EQ(choose_surroundings({1025, 1125}), choose_surroundings({1040, 1140}));
}

TEST(lane_survey, calls_a_curve_without_values_empty) {
  EXPECT_TRUE(judge(make_series({make_band(band_role::value, {0, 0})}), track_kind::counter).empty);
  EXPECT_FALSE(judge(make_series({make_band(band_role::value, {0, 1})}), track_kind::counter).empty);
}

TEST(lane_survey, names_the_directions_in_which_nothing_was_copied) {
  const auto content = judge(make_series({make_band(band_role::value, {0, 5}, trace::direction::h2d),
                                          make_band(band_role::value, {0, 0}, trace::direction::d2h)}),
                             track_kind::bandwidth);
  EXPECT_FALSE(content.empty);
  EXPECT_EQ(content.no_copies, (std::set<trace::direction>{trace::direction::d2h}));
  query::track track;
  track.label = "Bandwidth";
  EXPECT_EQ(name_empty_lanes(track, content), (std::vector<std::string>{"Bandwidth, device to host"}));
  EXPECT_EQ(name_empty_lanes(track, {.empty = true, .no_copies = {}}), (std::vector<std::string>{"Bandwidth"}));
  EXPECT_TRUE(name_empty_lanes(track, {}).empty());
}

TEST(lane_survey, calls_memory_flat_if_it_is_allocated_once_and_freed_once) {
  EXPECT_TRUE(judge(make_series({make_band(band_role::used, {0, 3, 9, 9, 9, 4, 0})}), track_kind::memory).flat);
  EXPECT_FALSE(judge(make_series({make_band(band_role::used, {0, 9, 9, 5, 9, 9})}), track_kind::memory).flat);
  EXPECT_FALSE(judge(make_series({make_band(band_role::used, {0, 3, 6, 9})}), track_kind::memory).flat);
}

TEST(lane_survey, judges_memory_by_its_highest_layer) {
  query::band tensors = make_band(band_role::used, {1, 3, 1, 3});
  tensors.layer = trace::layer::framework;
  EXPECT_FALSE(
      judge(make_series({make_band(band_role::used, {999, 999, 999, 999}), tensors}), track_kind::memory).flat);
}

TEST(lane_survey, knows_whether_a_whole_gpu_was_sampled) {
  const auto used = make_band(band_role::used, {1, 1});
  EXPECT_FALSE(judge(make_series({used, make_band(band_role::total, {0, 0})}), track_kind::memory).sampled);
  EXPECT_TRUE(judge(make_series({used, make_band(band_role::total, {0, 8})}), track_kind::memory).sampled);
}

}  // namespace
}  // namespace sluice::gui::lane_surveys
