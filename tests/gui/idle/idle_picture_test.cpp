// Checks off-screen pictures of idle time by cause in the timeline, and of the flame graph of the host.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "app/gui/gl/png.hpp"
#include "app/gui/views/timeline/timeline.hpp"
#include "app/gui/window/picture.hpp"
#include "tests/gui/idle/idle_sample.hpp"
#include "tests/gui/sample.hpp"

namespace sluice::gui {
namespace {

using test::idle_sample;

class idle_picture : public testing::TestWithParam<theme_kind> {
 protected:
  void TearDown() override {
    shown.reset();
    std::filesystem::remove(path);
  }

  gl::image draw(const std::string& view, bool sampled = true) {
    test::write_idle_sample(path, sampled);
    picture_options options;
    options.width = 1400;
    options.height = 900;
    options.theme = GetParam();
    auto output = picture::create(options, {});
    EXPECT_TRUE(output) << output.error().to_string();
    shown = std::move(*output);
    EXPECT_TRUE(shown->app().show_only(view)) << view;
    shown->app().open(path);
    EXPECT_TRUE(shown->settle(60));
    return shown->read();
  }

  /// The highest number of pixels of a colour in any row, as a share of the width.
  [[nodiscard]] static double fullest_row(const gl::image& picture, ImU32 wanted) {
    int most = 0;
    for (int y = 0; y < picture.height; ++y) {
      int found = 0;
      for (int x = 0; x < picture.width; ++x) {
        const std::size_t place =
            (static_cast<std::size_t>(y) * static_cast<std::size_t>(picture.width) + static_cast<std::size_t>(x)) * 3;
        bool same = true;
        for (int i = 0; i < 3; ++i)
          same = same && std::abs(picture.pixels[place + static_cast<std::size_t>(i)] -
                                  static_cast<int>((wanted >> (8 * i)) & 0xFF)) <= 6;
        found += same ? 1 : 0;
      }
      most = std::max(most, found);
    }
    return static_cast<double>(most) / picture.width;
  }

  const std::string path = test::own_path("idle.sluice");
  std::unique_ptr<picture> shown;
};

TEST_P(idle_picture, shows_each_cause_in_its_colour_and_proportion) {
  const gl::image picture = draw("timeline");
  const theme& colours = get_theme(GetParam());
  const timeline_view& timeline = shown->app().find<timeline_view>();
  ASSERT_NE(timeline.idle().shown(), nullptr);
  ASSERT_EQ(timeline.idle().shown()->lanes.size(), 1U);
  const draw::rectangle& axis = timeline.axis_area();
  const double visible = static_cast<double>(shown->app().state().active()->visible.length());
  const double width = static_cast<double>(axis.width()) / picture.width;
  const double planned = static_cast<double>(idle_sample::steps * idle_sample::planning) / visible * width;
  const double loaded = static_cast<double>(idle_sample::steps * idle_sample::loading) / visible * width;
  EXPECT_NEAR(fullest_row(picture, colours.of(metrics::gap_cause::host)), planned, 0.08);
  EXPECT_NEAR(fullest_row(picture, colours.of(metrics::gap_cause::data)), loaded, 0.08);
}

TEST_P(idle_picture, shows_what_the_host_did_as_a_flame_graph) {
  const gl::image picture = draw("host-stacks");
  const theme& colours = get_theme(GetParam());
  const ImU32 own = colours.shade(colours.slice(query::slice_kind::kernel), std::hash<std::string>()("train_step"));
  EXPECT_GT(fullest_row(picture, own), 0.3) << "the program's own function is under most of the time";
}

TEST_P(idle_picture, of_a_recording_without_samples_has_no_boxes) {
  const gl::image picture = draw("host-stacks", false);
  const theme& colours = get_theme(GetParam());
  EXPECT_LT(fullest_row(picture, colours.shade(colours.slice(query::slice_kind::kernel),
                                               std::hash<std::string>()("train_step"))),
            0.1);
}

INSTANTIATE_TEST_SUITE_P(themes, idle_picture, testing::Values(theme_kind::dark, theme_kind::light),
                         [](const auto& which) { return which.param == theme_kind::dark ? "dark" : "light"; });

}  // namespace
}  // namespace sluice::gui
