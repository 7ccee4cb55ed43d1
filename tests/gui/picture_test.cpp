// Checks pictures of each view: the place and amount of colours, text, no empty areas. The views are drawn off screen
// with EGL, as `sluice screenshot` does.
#include "app/gui/window/picture.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "app/gui/gl/png.hpp"
#include "app/gui/views/memory_map/memory_map.hpp"
#include "app/gui/views/timeline/timeline.hpp"
#include "tests/gui/sample.hpp"
#include "tests/programs.hpp"

namespace sluice::gui {
namespace {

using test::sample;

struct colour {
  int r, g, b;
};

colour of(ImU32 packed) {
  return {static_cast<int>(packed & 0xFF), static_cast<int>((packed >> 8) & 0xFF),
          static_cast<int>((packed >> 16) & 0xFF)};
}

colour at(const gl::image& picture, int x, int y) {
  const std::size_t place =
      (static_cast<std::size_t>(y) * static_cast<std::size_t>(picture.width) + static_cast<std::size_t>(x)) * 3;
  return {picture.pixels[place], picture.pixels[place + 1], picture.pixels[place + 2]};
}

bool near(colour a, colour b, int tolerance = 6) {
  return std::abs(a.r - b.r) <= tolerance && std::abs(a.g - b.g) <= tolerance && std::abs(a.b - b.b) <= tolerance;
}

struct region {
  int left, top, right, bottom;
};

region all_of(const gl::image& picture) { return {0, 0, picture.width, picture.height}; }

int count(const gl::image& picture, region where, colour wanted, int tolerance = 6) {
  int found = 0;
  for (int y = where.top; y < where.bottom; ++y)
    for (int x = where.left; x < where.right; ++x) found += near(at(picture, x, y), wanted, tolerance) ? 1 : 0;
  return found;
}

double share_not(const gl::image& picture, region where, colour background) {
  const int area = (where.right - where.left) * (where.bottom - where.top);
  return 1 - static_cast<double>(count(picture, where, background, 3)) / area;
}

/// The highest share of pixels of colour `wanted` in any row.
double fullest_row(const gl::image& picture, region where, colour wanted) {
  int most = 0;
  for (int y = where.top; y < where.bottom; ++y)
    most = std::max(most, count(picture, {where.left, y, where.right, y + 1}, wanted));
  return static_cast<double>(most) / (where.right - where.left);
}

class picture_test : public testing::TestWithParam<theme_kind> {
 protected:
  void SetUp() override { test::write_sample(path); }
  void TearDown() override {
    shown.reset();
    std::filesystem::remove(path);
  }

  void create(int width = 1400, int height = 900, float scale = 1) {
    picture_options options;
    options.width = width;
    options.height = height;
    options.scale = scale;
    options.theme = GetParam();
    application_options content;
    content.demos = {{"overlap", "Copies beside kernels"}, {"leak", "Memory that never comes back"}};
    content.recordings_folder = "/nowhere";
    auto output = picture::create(options, std::move(content));
    ASSERT_TRUE(output) << output.error().to_string();
    shown = std::move(*output);
  }

  gl::image draw(const std::string& view = {}) {
    if (!view.empty()) {
      EXPECT_TRUE(shown->app().show_only(view)) << view;
    }
    shown->app().open(path);
    EXPECT_TRUE(shown->settle(60));
    EXPECT_TRUE(shown->app().notices().failures().empty());
    return shown->read();
  }

  region axis() const {
    const draw::rectangle& area = shown->app().find<timeline_view>().axis_area();
    return {static_cast<int>(area.min.x), static_cast<int>(area.min.y), static_cast<int>(area.max.x),
            static_cast<int>(area.max.y)};
  }

  [[nodiscard]] const theme& colours() const { return get_theme(GetParam()); }

  const std::string path = test::own_path("picture.sluice");
  std::unique_ptr<picture> shown;
};

TEST_P(picture_test, shows_the_timeline_with_its_copies_in_proportion) {
  create();
  const gl::image picture = draw("timeline");
  const double visible = static_cast<double>(shown->app().state().active()->visible.length());
  const double copies = sample::chunks * static_cast<double>(sample::copy_ns) / visible;
  // Adjacent boxes have a pixel between them, so this is slightly less than the copies' share of the time.
  EXPECT_NEAR(fullest_row(picture, axis(), of(colours().slice(query::slice_kind::h2d))), copies, 0.06);
  EXPECT_NEAR(fullest_row(picture, axis(), of(colours().slice(query::slice_kind::d2h))), copies, 0.06);
}

TEST_P(picture_test, shows_memory_as_an_area_of_its_layers) {
  create();
  const gl::image picture = draw("timeline");
  const region where = axis();
  EXPECT_GT(fullest_row(picture, where, of(colours().layers[0])), 0.6) << "driver";
  EXPECT_GT(fullest_row(picture, where, of(colours().layers[1])), 0.3) << "pool";
  EXPECT_GT(fullest_row(picture, where, of(colours().pool_free)), 0.6) << "reserved by the pool";
}

TEST_P(picture_test, draws_the_links_peak_across_the_chart) {
  create(1400, 1400);
  const gl::image picture = draw("timeline");
  EXPECT_GT(fullest_row(picture, axis(), of(colours().limit)), 0.95);
}

// The glyph texture may hold glyphs of earlier frames, whose number depends on how fast results arrive.
TEST_P(picture_test, is_the_same_whatever_was_shown_before) {
  create();
  const gl::image at_once = draw("summary");
  shown.reset();
  create();
  draw("blocks");
  ASSERT_TRUE(shown->app().show_only("summary"));
  ASSERT_TRUE(shown->settle(60));
  const gl::image afterwards = shown->read();
  EXPECT_TRUE(at_once.pixels == afterwards.pixels);
}

// Runs the program three times on one recording, with the results a little later each time.
TEST(screenshot, of_one_recording_is_the_same_file_every_time) {
  const std::string out = test::own_path("run.png");
  const auto run = [&](const std::string& before) {
    const std::string command = before +
                                " " SLUICE_BINARY_DIR "/sluice screenshot " SLUICE_SOURCE_DIR
                                "/assets/recordings/pytorch-training.sluice --force -o " +
                                out;
    EXPECT_EQ(run_shell(command).status, 0);
    std::ifstream file(out, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  const std::string first = run("");
  EXPECT_FALSE(first.empty());
  EXPECT_TRUE(run("taskset -c 0") == first);
  EXPECT_TRUE(run("nice -n 19") == first);
  std::filesystem::remove(out);
}

TEST_P(picture_test, zooms_to_a_range) {
  create();
  draw("timeline");
  // One chunk, in which the copy to the device takes 300 of 400 us.
  shown->app().invoke("timeline.show", time_range{5'000'000, 5'400'000});
  ASSERT_TRUE(shown->settle(60));
  EXPECT_EQ(shown->app().state().active()->visible, (time_range{5'000'000, 5'400'000}));
  EXPECT_NEAR(fullest_row(shown->read(), axis(), of(colours().slice(query::slice_kind::h2d))), 0.75, 0.02);
}

TEST_P(picture_test, tints_the_selected_range_only) {
  create();
  draw("timeline");
  shown->app().invoke("selection.range", time_range{5'000'000, 10'000'000});
  ASSERT_TRUE(shown->settle(60));
  const gl::image picture = shown->read();
  const region where = axis();
  const auto column = [&](time_ns time) {
    const time_range visible = shown->app().state().active()->visible;
    return where.left + static_cast<int>(static_cast<double>(time - visible.begin) /
                                         static_cast<double>(visible.length()) * (where.right - where.left));
  };
  const int left = column(5'000'000);
  const int right = column(10'000'000);
  EXPECT_GT(count(picture, {left - 2, where.top, left + 3, where.bottom}, of(colours().accent)),
            (where.bottom - where.top) / 2);
  EXPECT_GT(count(picture, {right - 2, where.top, right + 3, where.bottom}, of(colours().accent)),
            (where.bottom - where.top) / 2);
  EXPECT_LT(count(picture, {left + 4, where.bottom - 30, right - 4, where.bottom - 2}, of(colours().background), 3),
            (right - left) * 14);
}

TEST_P(picture_test, of_the_memory_map_is_to_scale) {
  create(1400, 900);
  draw("memory-map");
  shown->app().invoke("moment.set", time_range{10'000'000, 10'000'000});
  ASSERT_TRUE(shown->settle(60));
  const auto map = shown->app().find<memory_map_view>().shown();
  ASSERT_NE(map, nullptr);
  const query::address_segment& segment = map->segments.at(0);
  ASSERT_EQ(segment.bytes, sample::segment_bytes);
  const auto first = shown->app().find<memory_map_view>().get_place(segment.block, segment.address);
  const auto last = shown->app().find<memory_map_view>().get_place(segment.block, segment.address + segment.bytes - 1);
  ASSERT_TRUE(first && last);
  // The region of all rows of the segment. All rows are full, because their number is a power of two.
  const region where{static_cast<int>(first->x), static_cast<int>(first->y) - 10, static_cast<int>(last->x),
                     static_cast<int>(last->y) + 10};
  const gl::image picture = shown->read();
  const double holes = count(picture, where, of(colours().pool_free), 2);
  const double total = (where.right - where.left) * static_cast<double>(where.bottom - where.top);
  const double free = 1 - static_cast<double>(segment.used) / static_cast<double>(segment.bytes);
  EXPECT_NEAR(holes / total, free * 0.93, 0.05) << "there are gaps between the lines";
  const query::address_item& block = segment.items.at(1);
  ASSERT_LT(block.bytes, sample::slot_bytes);
  const auto end = shown->app().find<memory_map_view>().get_place(segment.block, block.address + block.bytes);
  ASSERT_TRUE(end);
  const auto is_hole = [&](int x) {
    return near(at(picture, static_cast<int>(end->x) + x, static_cast<int>(end->y) + 6), of(colours().pool_free), 2);
  };
  EXPECT_FALSE(is_hole(-4)) << "the hole ends exactly here";
  EXPECT_TRUE(is_hole(3));
}

TEST_P(picture_test, of_every_view_has_text_and_room) {
  create(900, 700);
  for (const std::string& view : shown->app().panels().names()) {
    const gl::image picture = draw(view);
    if (view == "details") {
      shown->app().invoke("selection.set", selection{document_id::none, selection_kind::block, 1});
      ASSERT_TRUE(shown->settle(60));
    }
    const gl::image now = shown->read();
    const region body{0, 70, now.width, now.height};
    const double painted = share_not(now, body, of(colours().background));
    EXPECT_GT(painted, 0.0015) << view << " is empty";
    EXPECT_LT(painted, view == "timeline" || view == "memory-map" ? 0.9 : 0.6) << view << " is crowded";
    EXPECT_GT(count(now, body, of(colours().text), 24), 60) << view << " has no text";
    static_cast<void>(picture);
  }
}

TEST_P(picture_test, of_all_panels_together_shows_each) {
  create(1600, 900);
  const gl::image picture = draw();
  // The right panel, the bottom panel and the timeline each contain text.
  EXPECT_GT(count(picture, {1230, 60, 1600, 600}, of(colours().text), 24), 200);
  EXPECT_GT(count(picture, {0, 640, 1190, 900}, of(colours().text), 24), 200);
  EXPECT_GT(count(picture, {0, 150, 200, 600}, of(colours().text), 24), 100);
}

TEST_P(picture_test, fits_a_small_window) {
  create(800, 500);
  const gl::image picture = draw();
  EXPECT_GT(axis().right - axis().left, 400);
  EXPECT_GT(axis().bottom - axis().top, 120);
  EXPECT_GT(count(picture, all_of(picture), of(colours().text), 24), 300);
}

TEST_P(picture_test, scales_for_dense_displays) {
  create(1600, 1000, 2);
  const gl::image picture = draw();
  EXPECT_GT(count(picture, {0, 0, 600, 40}, of(colours().text), 24), 300) << "the menu's text is twice as large";
}

TEST_P(picture_test, of_an_empty_recording_says_so) {
  test::write_empty(path);
  create();
  const gl::image picture = draw();
  EXPECT_GT(count(picture, {300, 200, 1100, 700}, of(colours().text), 60), 100);
  EXPECT_LT(share_not(picture, {0, 100, 1400, 900}, of(colours().background)), 0.05);
}

TEST_P(picture_test, of_the_welcome_screen_has_two_cards_side_by_side) {
  create(1280, 720);
  ASSERT_TRUE(shown->settle(60));
  const gl::image picture = shown->read();
  for (const int left : {20, 660}) {
    const region card{left, 110, left + 600, 250};
    EXPECT_GT(count(picture, card, of(colours().raised), 2), 40'000) << left;
    EXPECT_GT(count(picture, card, of(colours().text), 24), 100) << left << ": its title and its buttons";
  }
}

TEST_P(picture_test, keeps_its_background_where_nothing_is) {
  create(1280, 720);
  ASSERT_TRUE(shown->settle(60));
  EXPECT_TRUE(near(at(shown->read(), 1270, 710), of(colours().background), 1));
}

TEST_P(picture_test, is_read_again_from_its_file) {
  create(320, 240);
  ASSERT_TRUE(shown->settle(60));
  const std::string file = test::own_path("picture.png");
  ASSERT_TRUE(gl::write_png(shown->read(), file));
  std::ifstream in(file, std::ios::binary);
  std::string head(24, '\0');
  in.read(head.data(), 24);
  EXPECT_EQ(head.substr(1, 3), "PNG");
  EXPECT_EQ(head.substr(18, 2), std::string("\x01\x40", 2));
  std::filesystem::remove(file);
  const auto failed = gl::write_png(shown->read(), "/nowhere/at/all.png");
  ASSERT_FALSE(failed);
  EXPECT_FALSE(failed.error().hint.empty());
}

INSTANTIATE_TEST_SUITE_P(themes, picture_test, testing::Values(theme_kind::dark, theme_kind::light),
                         [](const auto& which) { return which.param == theme_kind::dark ? "dark" : "light"; });

}  // namespace
}  // namespace sluice::gui
