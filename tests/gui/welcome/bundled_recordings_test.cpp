#include "app/gui/views/welcome/bundled_recordings.hpp"

#include <gmock/gmock.h>

#include <filesystem>

#include "app/gui/window/theme.hpp"
#include "app/recordings/overview.hpp"
#include "app/recordings/thumbnail_svg.hpp"

namespace sluice::gui {
namespace {

using ::testing::Gt;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

const std::string folder = SLUICE_SOURCE_DIR "/assets/recordings";

TEST(bundled_recordings, have_a_title_a_picture_and_a_verdict) {
  std::size_t seen = 0;
  for (const recording_entry& each : find_recordings(folder)) {
    const auto read = recordings::read_overview(each.path);
    ASSERT_TRUE(read) << each.path << ": " << read.error().to_string();
    EXPECT_THAT(read->picture.memory.bands, Not(IsEmpty())) << each.path;
    EXPECT_NE(read->verdict.text, "") << each.path;
    EXPECT_NE(each.title + ".sluice", std::filesystem::path(each.path).filename()) << "no title in the index";
    EXPECT_THAT(each.shows, SizeIs(Gt(10U)));
    EXPECT_LE(std::filesystem::file_size(each.path), 720U << 10) << each.path << ": the program carries it";
    ++seen;
  }
  EXPECT_GE(seen, 7U);
}

std::uint32_t get_rgb(ImU32 colour) {
  const auto part = [&](int shift) { return (colour >> shift) & 0xFFU; };
  return part(IM_COL32_R_SHIFT) << 16 | part(IM_COL32_G_SHIFT) << 8 | part(IM_COL32_B_SHIFT);
}

TEST(pages, draw_pictures_in_the_colours_of_the_dark_theme) {
  const theme& dark = get_theme(theme_kind::dark);
  const recordings::thumbnail_colours& page = recordings::page_colours();
  for (std::size_t i = 0; i < page.categories.size(); ++i) EXPECT_EQ(page.categories[i], get_rgb(dark.categories[i]));
  for (std::size_t i = 0; i < page.layers.size(); ++i) EXPECT_EQ(page.layers[i], get_rgb(dark.layers[i]));
  for (std::size_t i = 0; i < page.memory.size(); ++i) EXPECT_EQ(page.memory[i], get_rgb(dark.memory[i]));
  EXPECT_EQ(page.reserved, get_rgb(dark.pool_free));
  EXPECT_EQ(page.kernels, get_rgb(dark.slice(query::slice_kind::kernel)));
  EXPECT_EQ(page.copies, get_rgb(dark.directions[static_cast<std::size_t>(trace::direction::h2d)]));
}

}  // namespace
}  // namespace sluice::gui
