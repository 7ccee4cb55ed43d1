#include "app/gui/window/remote_display.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

namespace sluice::gui {
namespace {

using picture = std::vector<std::uint32_t>;

TEST(remote_display, is_one_with_a_host) {
  for (const char* name : {"localhost:10.0", "127.0.0.1:10", "server.example:0", "[::1]:10.0"})
    EXPECT_TRUE(is_remote_display(name)) << name;
  for (const char* name : {":0", ":1.0", "unix:0", "/private/tmp/launch/org.xquartz:0", "", "nonsense"})
    EXPECT_FALSE(is_remote_display(name)) << name;
}

TEST(changed_areas, of_equal_pictures_are_none) {
  const picture same(64 * 48, 7);
  EXPECT_TRUE(changed_areas(same, same, 64).empty());
  EXPECT_TRUE(changed_areas({}, {}, 0).empty());
}

TEST(changed_areas, are_bands_as_narrow_as_their_changes) {
  const picture before(64 * 48);
  picture now = before;
  now[2 * 64 + 10] = 1;  // Row 2, column 10.
  now[4 * 64 + 30] = 1;
  now[40 * 64 + 63] = 1;
  EXPECT_EQ(changed_areas(before, now, 64), (std::vector<pixel_area>{{10, 2, 21, 3}, {63, 40, 1, 1}}));
}

TEST(changed_areas, hold_all_that_changed) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const auto up_to = [&](int behind) { return static_cast<int>(random() % static_cast<unsigned>(behind)); };
    const int width = 1 + up_to(40), height = 1 + up_to(80);
    picture before(static_cast<std::size_t>(width) * static_cast<std::size_t>(height));
    picture now = before;
    for (int changes = up_to(6); changes > 0; --changes) now[random() % now.size()] = 1;
    std::size_t changed = 0;
    picture shown = before;
    for (const pixel_area& each : changed_areas(before, now, width)) {
      ASSERT_GE(each.x, 0);
      ASSERT_LE(each.x + each.width, width);
      ASSERT_LE(each.y + each.height, height);
      changed += static_cast<std::size_t>(each.width) * static_cast<std::size_t>(each.height);
      for (int y = each.y; y < each.y + each.height; ++y)
        for (int x = each.x; x < each.x + each.width; ++x) {
          const auto at = static_cast<std::size_t>(y) * static_cast<std::size_t>(width) + static_cast<std::size_t>(x);
          shown[at] = now[at];
        }
    }
    EXPECT_EQ(shown, now);
    EXPECT_EQ(changed == 0, before == now);
  }
}

}  // namespace
}  // namespace sluice::gui
