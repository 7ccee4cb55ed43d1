// Boxes are merged only if the picture stays the same.
#include "app/gui/draw/boxes.hpp"

#include <gtest/gtest.h>

namespace sluice::gui::draw {
namespace {

constexpr ImU32 red = 0xff0000ff;
constexpr ImU32 blue = 0xffff0000;

box column(float begin, float low, float high, ImU32 colour = red, std::uint32_t style = 0) {
  return {begin, begin + 1, low, high, colour, style};
}

TEST(boxes, of_one_row_of_pixels_become_one) {
  std::vector<box> boxes = {column(0, 0, 50.1F), column(1, 0, 50.3F), column(2, 0, 49.8F)};
  simplify(boxes, 100, 100);
  ASSERT_EQ(boxes.size(), 1U);
  EXPECT_EQ(boxes[0].begin, 0);
  EXPECT_EQ(boxes[0].end, 3);
  EXPECT_EQ(boxes[0].high, 50);
}

TEST(boxes, stay_apart_if_they_can_be_reported_apart) {
  std::vector<box> boxes = {column(0, 0, 50), column(1, 0, 51), column(2, 0, 51, blue), column(4, 0, 51, blue),
                            column(5, 0, 51, blue, gap_after)};
  const std::vector<box> before = boxes;
  simplify(boxes, 100, 100);
  EXPECT_EQ(boxes.size(), before.size());
}

TEST(boxes, of_stacked_bands_are_joined_band_by_band) {
  std::vector<box> boxes;
  for (int at = 0; at < 100; ++at) {
    const auto begin = static_cast<float>(at);
    boxes.push_back(column(begin, 0, 20, red));
    boxes.push_back(column(begin, 20, at == 50 ? 80 : 40, blue));
  }
  simplify(boxes, 100, 50);
  EXPECT_EQ(boxes.size(), 4U) << "one for the lower band; three for the upper, which is higher in one place";
}

TEST(boxes, lower_than_a_pixel_stay_visible) {
  std::vector<box> boxes = {column(0, 10, 10.01F)};
  simplify(boxes, 100, 10);
  ASSERT_EQ(boxes.size(), 1U);
  EXPECT_EQ(boxes[0].low, 10);
  EXPECT_EQ(boxes[0].high, 20) << "one row of pixels";
}

TEST(boxes, are_left_alone_if_their_height_on_the_screen_is_not_known) {
  std::vector<box> boxes = {column(0, 0, 50.1F), column(1, 0, 50.1F)};
  simplify(boxes, 100, 0);
  ASSERT_EQ(boxes.size(), 2U);
  EXPECT_EQ(boxes[0].high, 50.1F);
}

}  // namespace
}  // namespace sluice::gui::draw
