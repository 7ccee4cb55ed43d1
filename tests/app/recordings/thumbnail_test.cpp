#include "app/recordings/thumbnail.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <string>

#include "app/recordings/overview.hpp"
#include "app/recordings/thumbnail_svg.hpp"

namespace sluice::recordings {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Le;
using ::testing::SizeIs;

const std::string folder = SLUICE_SOURCE_DIR "/assets/recordings";

double sum(const std::vector<float>& shares) {
  double total = 0;
  for (const float each : shares) total += each;
  return total;
}

TEST(thumbnail, shows_memory_by_category_and_what_the_gpu_did) {
  const auto read = read_overview(folder + "/pytorch-training.sluice");
  ASSERT_TRUE(read) << read.error().to_string();
  const thumbnail& made = read->picture;
  EXPECT_TRUE(std::any_of(made.memory.bands.begin(), made.memory.bands.end(), [](const query::band& each) {
    return each.by_category && each.category == index::category::activation;
  }));
  EXPECT_LT(made.memory.range.length(), 200'000'000) << "some steps, not the seconds of imports";
  EXPECT_THAT(made.kernels, AllOf(SizeIs(thumbnail::columns), Each(AllOf(Ge(0), Le(1)))));
  EXPECT_GT(sum(made.kernels), 20) << "kernels run in a good part of the range";
  EXPECT_GT(sum(made.copies), 0);
  EXPECT_LT(sum(made.copies), sum(made.kernels)) << "this program copies little";
}

TEST(thumbnail, is_drawn_as_shapes_that_do_not_leave_the_picture) {
  const auto read = read_overview(folder + "/pytorch-training.sluice");
  ASSERT_TRUE(read) << read.error().to_string();
  const auto shapes = list_shapes(read->picture);
  ASSERT_GT(shapes.size(), 4U);
  float highest = 0;
  for (const thumbnail_shape& shape : shapes)
    for (const auto& [low, high] : shape.bars) {
      EXPECT_GE(low, 0);
      EXPECT_LE(low, high);
      EXPECT_LE(high, 1.0001F);
      highest = std::max(highest, high);
    }
  EXPECT_GT(highest, 0.99F) << "the peak reaches the upper edge";
  EXPECT_EQ(shapes[shapes.size() - 2].part, thumbnail_part::kernels);
  EXPECT_EQ(shapes.back().part, thumbnail_part::copies);
  EXPECT_EQ(shapes.front().part, thumbnail_part::reserved) << "what is reserved lies behind what is used";
}

TEST(thumbnail, is_small_as_svg) {
  const auto read = read_overview(folder + "/pytorch-training.sluice");
  ASSERT_TRUE(read) << read.error().to_string();
  const std::string svg = to_svg(read->picture, 160, 60);
  EXPECT_THAT(svg, ::testing::StartsWith("<svg width=\"160\" height=\"60\""));
  EXPECT_THAT(svg, HasSubstr("fill=\"#008170\"")) << "activations";
  EXPECT_LT(svg.size(), 40'000U);
  EXPECT_EQ(to_svg({}, 160, 60).find("<path"), std::string::npos) << "nothing to draw";
}

}  // namespace
}  // namespace sluice::recordings
