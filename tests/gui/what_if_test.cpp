// The What if panel in a real window: memory that the allocator would reserve with other settings.
#include <gtest/gtest.h>

#include <filesystem>

#include "app/gui/views/what_if_replay.hpp"
#include "core/base/format.hpp"
#include "core/query/engine/engine.hpp"
#include "tests/core/recordings/replayed_program.hpp"
#include "tests/gui/window_fixture.hpp"

namespace sluice::test {
namespace {

class what_if_panel : public window_test {
 protected:
  void open_torch(ImGuiTestContext& user) {
    {
      testing::recording recorded;
      testing::replayed_program program(recorded);
      testing::grow_slowly(program, 30);
      recorded.close();
      std::filesystem::copy_file(recorded.path(), path, std::filesystem::copy_options::overwrite_existing);
    }
    open_panel(user);
  }
  void open_panel(ImGuiTestContext& user) {
    open_sample(user);
    app().invoke("what_if.open");
    user.Yield(4);
    settle(user);
  }
};

TEST_F(what_if_panel, hides_a_curve_that_is_clicked_away) {
  use([&](ImGuiTestContext& user) {
    open_torch(user);
    user.ItemClick("//What if/**/##row");
    user.Yield(3);
    const ImRect chart = user.ItemInfo("//What if/##chart").RectFull;
    user.MouseMoveToPos({chart.Min.x + chart.GetWidth() * 0.9F, chart.GetCenter().y});
    user.Yield(3);
    const std::string words = read(user);
    const std::size_t tip = words.find("reserved at ");
    ASSERT_NE(tip, std::string::npos) << words;
    EXPECT_EQ(words.find("current", tip), std::string::npos) << words.substr(tip);
    EXPECT_NE(words.find("expandable_segments:True", tip), std::string::npos);
  });
}

}  // namespace
}  // namespace sluice::test
