// The panel of generations: marks, the live memory of each generation, and going to a block.
#include "core/query/types/generations.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "core/base/format.hpp"
#include "core/query/engine/engine.hpp"
#include "tests/core/recordings/steps_program.hpp"
#include "tests/gui/panels/panel_rows.hpp"
#include "tests/gui/window_fixture.hpp"

namespace sluice::test {
namespace {

using testing::mib;
using testing::ms;

class generations_panel : public window_test {
 protected:
  void open_leak(ImGuiTestContext& user) {
    {
      testing::recording recorded;
      testing::write_steps(recorded, 10, 32 * mib, 3 * mib);
      recorded.close();
      std::filesystem::copy_file(recorded.path(), path, std::filesystem::copy_options::overwrite_existing);
    }
    open_sample(user);
  }
  void mark(ImGuiTestContext& user, time_ns at) {
    app().invoke("generations.mark", time_range{at, at});
    user.Yield(4);
    settle(user);
  }
};

TEST_F(generations_panel, lists_what_was_allocated_since_each_mark_and_lives) {
  use([&](ImGuiTestContext& user) {
    open_leak(user);
    mark(user, 9 * ms);
    mark(user, 59 * ms);
    const time_ns end = app().state().active()->span.end;
    const auto found =
        *app().state().active()->engine->ask_now(query::generations_query{.marks = {9 * ms, 59 * ms}, .at = end});
    ASSERT_EQ(found->generations.size(), 3U);
    EXPECT_EQ(found->generations[0].bytes, 100 * mib);
    EXPECT_EQ(found->generations[1].bytes, 15 * mib) << "from five steps";
    EXPECT_EQ(found->generations[2].bytes, 15 * mib);
    const std::string words = read(user);
    EXPECT_NE(words.find("before the first mark"), std::string::npos) << words;
    EXPECT_NE(words.find("15.0 MiB"), std::string::npos) << words;
    EXPECT_NE(words.find("Log.append  a/log.py:3"), std::string::npos) << words;
    EXPECT_EQ(words.find("Block.forward", words.find("Mark generation")), std::string::npos)
        << "freed again: " << words;
  });
}

TEST_F(generations_panel, selects_the_largest_block_of_a_line) {
  use([&](ImGuiTestContext& user) {
    open_leak(user);
    mark(user, 9 * ms);
    const auto rows = get_rows(user, "//Generations");
    const auto right = [](const ImRect& a, const ImRect& b) { return a.Min.x < b.Min.x; };
    click_row(user, *std::max_element(rows.begin(), rows.end(), right));  // The lines are to the right.
    EXPECT_EQ(app().state().selected().kind, gui::selection_kind::block);
  });
}

TEST_F(generations_panel, counts_at_the_chosen_moment_if_asked_to) {
  use([&](ImGuiTestContext& user) {
    open_leak(user);
    mark(user, 9 * ms);
    app().invoke("moment.set", time_range{33 * ms, 33 * ms});
    user.Yield(2);
    user.SetRef("//Generations");
    user.ComboClick("##at/live at the chosen moment");
    user.SetRef("");
    user.Yield(3);
    settle(user);
    const std::string words = read(user);
    EXPECT_NE(words.find("Block.forward"), std::string::npos) << "not freed at that moment: " << words;
    EXPECT_NE(words.find("38.0 MiB"), std::string::npos) << words;
  });
}

TEST_F(generations_panel, says_how_to_mark_one) {
  use([&](ImGuiTestContext& user) {
    open_leak(user);
    app().invoke("panel.focus.Generations");
    user.Yield(4);
    EXPECT_NE(read(user).find("No generation marks"), std::string::npos);
    mark(user, 9 * ms);
    app().invoke("generations.clear");
    user.Yield(4);
    EXPECT_NE(read(user).find("No generation marks"), std::string::npos);
  });
}

}  // namespace
}  // namespace sluice::test
