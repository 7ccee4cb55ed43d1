// Tabs of recordings: their widths, their names, and the comparisons among them.
#include "app/gui/shell/bars/tab_layout.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/gui/shell/comparison_tabs.hpp"

namespace sluice::gui {
namespace {

using ::testing::ElementsAre;

float measure_letters(std::string_view text) { return static_cast<float>(text.size()); }

std::vector<float> place(const std::vector<float>& natural, float room, std::size_t front = 0) {
  std::vector<float> widths(natural.size());
  for (const placed_tab& each : lay_out_tabs(natural, room, 50, 20, front).tabs) widths[each.tab] = each.width;
  return widths;
}

TEST(tab_layout, gives_tabs_their_width_if_all_fit) {
  EXPECT_THAT(place({100, 200}, 300), ElementsAre(100, 200));
  EXPECT_FALSE(lay_out_tabs(std::vector<float>{100, 200}, 300, 50, 20, 0).lists_others);
}

TEST(tab_layout, shrinks_the_widest_tabs_first) {
  EXPECT_THAT(place({60, 200, 100}, 260), ElementsAre(60, 100, 100));
  EXPECT_THAT(place({200, 200}, 240), ElementsAre(120, 120));
}

TEST(tab_layout, lists_tabs_that_have_no_room_but_draws_the_one_in_front) {
  const std::vector<float> natural(10, 100);
  const tab_layout found = lay_out_tabs(natural, 200, 50, 20, 9);
  EXPECT_TRUE(found.lists_others);
  ASSERT_EQ(found.tabs.size(), 3U);
  EXPECT_EQ(found.tabs.back().tab, 9U);
  float sum = 0;
  for (const placed_tab& each : found.tabs) sum += each.width;
  EXPECT_LE(sum, 180.001F);
  EXPECT_EQ(lay_out_tabs(natural, 10, 50, 20, 4).tabs.at(0).tab, 4U) << "even without room";
}

TEST(tab_layout, cuts_names_in_the_middle) {
  EXPECT_EQ(cut_middle("training-before", 15, measure_letters), "training-before");
  EXPECT_EQ(cut_middle("training-before", 11, measure_letters), "trai...fore");
  EXPECT_EQ(cut_middle("training-before", 1, measure_letters), "...");
  const std::string cut = cut_middle("\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4", 8, measure_letters);
  EXPECT_EQ(cut, "\xC3\xA4...\xC3\xA4") << "no half characters";
}

constexpr document_id a{1}, b{2}, c{3};

TEST(comparison_tabs, opens_each_comparison_once) {
  comparison_tabs tabs;
  tabs.open({a, b});
  tabs.open({a, c});
  tabs.open({a, b});
  EXPECT_EQ(tabs.all().size(), 2U);
  ASSERT_NE(tabs.front(), nullptr);
  EXPECT_EQ(*tabs.front(), (compared_documents{a, b}));
  tabs.open({c, c});
  EXPECT_EQ(tabs.all().size(), 2U) << "a document is not compared with itself";
}

TEST(comparison_tabs, keeps_what_is_in_front_when_another_closes) {
  comparison_tabs tabs;
  tabs.open({a, b});
  tabs.open({a, c});
  tabs.close({a, b});
  ASSERT_NE(tabs.front(), nullptr);
  EXPECT_EQ(*tabs.front(), (compared_documents{a, c}));
  tabs.close({a, c});
  EXPECT_EQ(tabs.front(), nullptr);
}

TEST(comparison_tabs, closes_the_comparisons_of_a_closed_document) {
  comparison_tabs tabs;
  tabs.open({a, b});
  tabs.open({b, c});
  tabs.forget(a);
  EXPECT_THAT(tabs.all(), ElementsAre(compared_documents{b, c}));
  ASSERT_NE(tabs.front(), nullptr);
  tabs.swap();
  EXPECT_EQ(*tabs.front(), (compared_documents{c, b}));
}

}  // namespace
}  // namespace sluice::gui
