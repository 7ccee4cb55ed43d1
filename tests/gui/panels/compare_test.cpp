// The panel that compares two recordings or ranges, in a real window: its numbers, its axis, and clicks on its rows.
#include "app/gui/views/compare/compare.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "core/base/format.hpp"
#include "core/export/recording/merge.hpp"
#include "core/query/engine/engine.hpp"
#include "tests/core/recordings/steps_program.hpp"
#include "tests/gui/window_fixture.hpp"

namespace sluice::test {
namespace {

using testing::mib;
using testing::ms;

class compare_panel : public window_test {
 protected:
  static void write(const std::string& to, int steps, std::uint64_t activation) {
    testing::recording recorded;
    testing::write_steps(recorded, steps, activation);
    recorded.close();
    std::filesystem::copy_file(recorded.path(), to, std::filesystem::copy_options::overwrite_existing);
  }
  void SetUp() override {
    window_test::SetUp();
    write(path, 10, 32 * mib);
    write(other, 20, 48 * mib);
  }
  void TearDown() override {
    window_test::TearDown();
    std::filesystem::remove(other);
  }
  const gui::compare_view& panel() { return app().find<gui::compare_view>(); }
  /// Opens `path`, then a comparison with `other`.
  void open_comparison(ImGuiTestContext& user) {
    open_sample(user);
    app().invoke("compare.with", other);
    EXPECT_TRUE(wait_until(user, [&] { return app().comparison().change() != nullptr && !app().busy(); }));
    user.Yield(2);
  }
  /// Compares both in the panel.
  void compare(ImGuiTestContext& user) {
    open_comparison(user);
    app().invoke("compare.open");
    EXPECT_TRUE(wait_until(user, [&] { return panel().shown() != nullptr; }));
    EXPECT_EQ(app().state().comparisons.front(), nullptr) << "a panel shows the active document";
    user.Yield(4);
    settle(user);
  }

  const std::string other = test::own_path("compared.sluice");
};

TEST_F(compare_panel, shows_both_sides_and_the_difference_of_each_line) {
  use([&](ImGuiTestContext& user) {
    compare(user);
    ASSERT_NE(panel().shown(), nullptr);
    user.ItemClick("//Compare/**/by line");
    user.Yield(3);
    const std::string words = read(user);
    EXPECT_NE(words.find("132 MiB to 148 MiB"), std::string::npos) << words;
    EXPECT_NE(words.find("a/model.py:40, Block.forward"), std::string::npos) << words;
    EXPECT_NE(words.find("+16.0 MiB (+50 %)"), std::string::npos) << words;
    EXPECT_NE(words.find("unchanged"), std::string::npos) << words;
  });
}

TEST_F(compare_panel, shows_the_metrics_of_both) {
  use([&](ImGuiTestContext& user) {
    compare(user);
    user.ItemClick("//Compare/**/Metrics");
    user.Yield(3);
    const std::string words = read(user);
    for (const metrics::compared_value& each : panel().shown()->values)
      EXPECT_NE(words.find(each.label), std::string::npos) << each.label << " in " << words;
    EXPECT_NE(words.find("40.0 MiB"), std::string::npos) << "copied before";
    EXPECT_NE(words.find("80.0 MiB"), std::string::npos) << "copied after";
  });
}

TEST_F(compare_panel, compares_two_steps_of_one_recording) {
  use([&](ImGuiTestContext& user) {
    open_sample(user);
    app().invoke("compare.steps");
    EXPECT_TRUE(wait_until(user, [&] { return panel().shown() != nullptr; }));
    user.Yield(4);
    settle(user);
    const std::string words = read(user);
    EXPECT_NE(words.find("step 1"), std::string::npos) << words;
    EXPECT_NE(words.find("step 9"), std::string::npos) << words;
    // The last step lasts until the end of the recording.
    const auto subject = [&](time_range range) {
      return app().state().active()->engine->ask_now(query::statistics_query{range}).value();
    };
    const auto before = subject({20 * ms, 30 * ms});
    ASSERT_EQ(panel().shown()->memory.size(), 1U);
    EXPECT_EQ(panel().shown()->memory[0].before.maximum, before->memory.at(0).maximum);
    EXPECT_EQ(panel().shown()->memory[0].before.allocations, before->memory.at(0).allocations);
    take_picture(user, "compare, two steps");
  });
}

TEST_F(compare_panel, compares_two_ranks_that_share_a_gpu) {
  std::vector<std::shared_ptr<const trace::snapshot>> parts;
  for (const std::string& each : {path, other}) parts.push_back(trace::file::open(each).value()->latest());
  const std::string both = test::own_path("both.sluice");
  ASSERT_TRUE(exports::merge(parts, both));
  std::filesystem::rename(both, path);
  use([&](ImGuiTestContext& user) {
    open_sample(user);
    app().invoke("compare.ranks");
    EXPECT_TRUE(wait_until(user, [&] { return panel().shown() != nullptr; }));
    user.Yield(4);
    settle(user);
    ASSERT_EQ(panel().shown()->memory.size(), 1U);
    EXPECT_EQ(panel().shown()->memory[0].before.maximum, 132 * mib);
    EXPECT_EQ(panel().shown()->memory[0].after.maximum, 148 * mib);
    const auto top = [&](std::size_t side) {
      const std::vector<double>& values = panel().curves().values(side);
      return *std::max_element(values.begin(), values.end());
    };
    EXPECT_EQ(top(0), static_cast<double>(132 * mib)) << "not the peak of the GPU, which both use";
    EXPECT_EQ(top(1), static_cast<double>(148 * mib));
    take_picture(user, "compare, two ranks");
  });
}

TEST_F(compare_panel, puts_equal_times_or_equal_steps_over_one_another) {
  use([&](ImGuiTestContext& user) {
    compare(user);
    const auto ends = [&](std::size_t side) {
      const std::vector<double>& values = panel().curves().values(side);
      std::size_t last = 0;
      for (std::size_t i = 0; i < values.size(); ++i)
        if (values[i] >= 0) last = i;
      return static_cast<double>(last) / static_cast<double>(values.size());
    };
    EXPECT_NEAR(ends(0), 0.5, 0.06) << "ten of twenty steps";
    EXPECT_NEAR(ends(1), 1, 0.02);
    const auto top = [&](std::size_t side) {
      double most = 0;
      for (const double each : panel().curves().values(side)) most = std::max(most, each);
      return most;
    };
    EXPECT_EQ(top(0), static_cast<double>(132 * mib));
    EXPECT_EQ(top(1), static_cast<double>(148 * mib));
    app().invoke("compare.align", std::string("step"));
    user.Yield(3);
    settle(user);
    EXPECT_NE(read(user).find("align by step"), std::string::npos);
    EXPECT_NEAR(ends(0), 0.5, 0.06);
  });
}

TEST_F(compare_panel, leads_to_the_block_of_the_document_where_a_line_holds_more) {
  use([&](ImGuiTestContext& user) {
    compare(user);
    app().invoke("compare.go", gui::selection{app().state().all().front()->id, gui::selection_kind::none, 0});
    user.Yield(4);
    settle(user);
    ASSERT_EQ(app().state().active()->path, path);
    app().invoke("compare.open");
    user.Yield(3);
    user.ItemClick("//Compare/**/by line");
    user.Yield(2);
    user.ItemClick("//Compare/**/##row");
    user.Yield(3);
    settle(user);
    user.Yield(3);
    EXPECT_EQ(app().state().active()->path, other);
    ASSERT_EQ(app().state().selected().kind, gui::selection_kind::block);
    const auto block = *app().state().active()->engine->ask_now(
        query::details_query{{}, static_cast<trace::block_id>(app().state().selected().id)});
    ASSERT_FALSE(block->stack.empty());
    EXPECT_EQ(block->stack.front().function, "Block.forward");
  });
}

TEST_F(compare_panel, compares_a_range_with_the_one_selected_later) {
  use([&](ImGuiTestContext& user) {
    open_sample(user);
    app().invoke("selection.range", time_range{0, 5 * ms});
    user.Yield(2);
    app().invoke("compare.with_range");
    user.Yield(4);
    settle(user);
    EXPECT_NE(read(user).find("Now select another range"), std::string::npos);
    app().invoke("selection.range", time_range{20 * ms, 40 * ms});
    user.Yield(4);
    settle(user);
    ASSERT_NE(panel().shown(), nullptr);
    EXPECT_EQ(panel().shown()->memory.at(0).before.maximum, 100 * mib);
    EXPECT_EQ(panel().shown()->memory.at(0).after.maximum, 132 * mib);
  });
}

TEST_F(compare_panel, fills_the_window_with_a_comparison_of_two_recordings) {
  use([&](ImGuiTestContext& user) {
    open_comparison(user);
    ASSERT_NE(app().state().comparisons.front(), nullptr);
    const metrics::run_change& change = *app().comparison().change();
    const std::string words = read(user);
    EXPECT_NE(words.find(change.headline), std::string::npos) << words;
    for (const char* each : {"132 MiB -> ", "148 MiB (+12 %)", "What changed", "What else differs",
                             "3 steps of each, aligned at the start of a step"})
      EXPECT_NE(words.find(each), std::string::npos) << each << " in " << words;
    const auto& shown = app().comparison().picture().shown();
    ASSERT_EQ(shown[0].steps.size(), 3U);
    EXPECT_EQ(shown[0].steps[0].number, shown[1].steps.at(0).number);
    user.ItemClick("//##base/**/Lines");
    EXPECT_TRUE(wait_until(user, [&] { return read(user).find("by line") != std::string::npos; }));
    user.ItemClick("//##base/**/by line");
    EXPECT_TRUE(wait_until(user, [&] { return read(user).find("a/model.py:40, Block.forward") != std::string::npos; }));
    take_picture(user, "comparison of two recordings");
  });
}

TEST_F(compare_panel, has_a_tab_for_each_recording_and_comparison) {
  use([&](ImGuiTestContext& user) {
    open_comparison(user);
    const auto front = [&] { return app().state().comparisons.front(); };
    user.KeyPress(ImGuiMod_Ctrl | ImGuiKey_Tab);
    user.Yield(3);
    EXPECT_EQ(front(), nullptr);
    EXPECT_EQ(app().state().active()->path, path) << "the first tab comes after the last";
    user.KeyPress(ImGuiMod_Ctrl | ImGuiKey_PageDown);
    user.Yield(3);
    EXPECT_EQ(app().state().active()->path, other);
    user.KeyPress(ImGuiMod_Ctrl | ImGuiKey_PageDown);
    user.Yield(3);
    ASSERT_NE(front(), nullptr);
    app().invoke("compare.swap_recordings");
    user.Yield(3);
    EXPECT_EQ(front()->after, app().state().all().front()->id);
    app().invoke("file.close");
    user.Yield(3);
    EXPECT_EQ(app().state().all().size(), 2U) << "only the comparison is closed";
    EXPECT_TRUE(app().state().comparisons.all().empty());
  });
}

TEST_F(compare_panel, compares_two_dropped_recordings) {
  use([&](ImGuiTestContext& user) {
    app().open(std::vector<std::string>{path, other});
    EXPECT_TRUE(wait_until(user, [&] { return app().comparison().change() != nullptr; }));
    ASSERT_NE(app().state().comparisons.front(), nullptr);
    for (const auto& each : app().state().all())
      EXPECT_EQ(each->id == app().state().comparisons.front()->before, each->path == path);
    EXPECT_NE(app().title().find(" and "), std::string::npos);
  });
}

TEST_F(compare_panel, says_what_to_do_with_one_recording) {
  use([&](ImGuiTestContext& user) {
    open_sample(user);
    app().invoke("compare.open");
    user.Yield(4);
    settle(user);
    const std::string words = read(user);
    EXPECT_NE(words.find("Nothing to compare with"), std::string::npos) << words;
    EXPECT_NE(words.find("Open another recording..."), std::string::npos) << words;
  });
}

TEST(difference_colours, of_more_and_less_differ_for_every_eye) {
  for (const gui::theme_kind kind : {gui::theme_kind::dark, gui::theme_kind::light}) {
    const gui::theme& colours = gui::get_theme(kind);
    const ImU32 more = gui::difference_flames::choose_colour(colours, 10, 20);
    const ImU32 less = gui::difference_flames::choose_colour(colours, 20, 10);
    const auto channel = [](ImU32 u32, int shift) { return static_cast<int>((u32 >> shift) & 0xFF); };
    // Blue and red, because people who cannot tell red from green still see the blue.
    EXPECT_GT(channel(less, IM_COL32_B_SHIFT) - channel(more, IM_COL32_B_SHIFT), 60);
    EXPECT_GT(channel(more, IM_COL32_R_SHIFT) - channel(less, IM_COL32_R_SHIFT), 60);
    EXPECT_EQ(gui::difference_flames::choose_colour(colours, 5, 5), colours.slice(query::slice_kind::api_call));
  }
}

}  // namespace
}  // namespace sluice::test
