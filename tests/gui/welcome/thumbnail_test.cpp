#include "app/gui/views/welcome/thumbnail.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "app/gui/views/welcome/welcome.hpp"

namespace sluice::gui {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::Ge;
using ::testing::Gt;
using ::testing::IsEmpty;
using ::testing::Le;
using ::testing::SizeIs;

const std::string recordings = SLUICE_SOURCE_DIR "/assets/recordings";

double sum(const std::vector<float>& shares) {
  double total = 0;
  for (const float each : shares) total += each;
  return total;
}

TEST(thumbnail, shows_memory_by_category_and_what_the_gpu_did) {
  const auto made = make_thumbnail(recordings + "/pytorch-training.sluice");
  ASSERT_TRUE(made) << made.error().to_string();
  EXPECT_TRUE(std::any_of(made->memory.bands.begin(), made->memory.bands.end(), [](const query::band& each) {
    return each.by_category && each.category == index::category::activation;
  }));
  EXPECT_LT(made->memory.range.length(), 200'000'000) << "some steps, not the seconds of imports";
  EXPECT_THAT(made->kernels, AllOf(SizeIs(thumbnail::columns), Each(AllOf(Ge(0), Le(1)))));
  EXPECT_GT(sum(made->kernels), 20) << "kernels run in a good part of the range";
  EXPECT_GT(sum(made->copies), 0);
  EXPECT_LT(sum(made->copies), sum(made->kernels)) << "this program copies little";
}

TEST(thumbnail, exists_for_each_recording_that_comes_with_the_program) {
  std::size_t seen = 0;
  for (const recording_entry& each : find_recordings(recordings)) {
    const auto made = make_thumbnail(each.path);
    ASSERT_TRUE(made) << each.path << ": " << made.error().to_string();
    EXPECT_THAT(made->memory.bands, ::testing::Not(IsEmpty())) << each.path;
    EXPECT_NE(each.title + ".sluice", std::filesystem::path(each.path).filename()) << "no title in the index";
    EXPECT_THAT(each.shows, SizeIs(Gt(10U)));
    ++seen;
  }
  EXPECT_GE(seen, 7U);
}

TEST(thumbnail, is_none_for_what_is_no_recording) {
  const auto path = std::filesystem::temp_directory_path() / "sluice-thumbnail-test.sluice";
  std::ofstream(path) << "not a recording";
  EXPECT_FALSE(make_thumbnail(path.string()));
  EXPECT_FALSE(make_thumbnail(path.string() + ".missing"));
  thumbnails several;
  EXPECT_EQ(several.find(path.string()), nullptr);
  while (several.reading()) EXPECT_EQ(several.find(path.string()), nullptr);
  std::filesystem::remove(path);
}

TEST(thumbnail, is_computed_in_the_background) {
  thumbnails several;
  const std::string path = recordings + "/leak.sluice";
  EXPECT_EQ(several.find(path), nullptr) << "the frame does not wait";
  const thumbnail* found = nullptr;
  while (several.reading()) found = several.find(path);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(several.find(path), found);
}

}  // namespace
}  // namespace sluice::gui
