// The selected rows of a view's tables.
#include "app/gui/views/table/row_selection.hpp"

#include <gtest/gtest.h>

#include <numeric>

namespace sluice::gui {
namespace {

constexpr unsigned one_table = 1, other_table = 2;

class row_selection_test : public ::testing::Test {
 protected:
  row_selection_test() { std::iota(values.begin(), values.end(), 0); }

  [[nodiscard]] table_of<int> table() const {
    table_of<int> made("Numbers", values);
    made.text("number", "number", [](int each) { return std::to_string(each); });
    return made;
  }
  [[nodiscard]] std::vector<std::size_t> chosen() const {
    std::vector<std::size_t> rows;
    for (std::size_t row = 0; row < values.size(); ++row)
      if (selection.contains(one_table, row)) rows.push_back(row);
    return rows;
  }
  using rows = std::vector<std::size_t>;

  std::vector<int> values = std::vector<int>(10);
  row_selection selection;
};

TEST_F(row_selection_test, of_one_row_is_the_row_with_the_focus) {
  selection.start_at(one_table, table(), 3);
  EXPECT_FALSE(selection.in(one_table));
  EXPECT_EQ(selection.words(), "");
  EXPECT_EQ(selection.anchor(), 3U);
}

TEST_F(row_selection_test, reaches_from_the_anchor_in_either_direction) {
  selection.start_at(one_table, table(), 3);
  selection.extend_to(one_table, table(), 5);
  EXPECT_EQ(chosen(), (rows{3, 4, 5}));
  selection.extend_to(one_table, table(), 2);
  EXPECT_EQ(chosen(), (rows{2, 3}));
  EXPECT_EQ(selection.words(), "2 rows selected");
  EXPECT_EQ(selection.text(table()), "2\n3");
}

TEST_F(row_selection_test, gains_and_loses_single_rows) {
  selection.start_at(one_table, table(), 3);
  selection.toggle(one_table, table(), 7);
  EXPECT_EQ(chosen(), (rows{3, 7}));
  selection.toggle(one_table, table(), 5);
  selection.toggle(one_table, table(), 3);
  EXPECT_EQ(chosen(), (rows{5, 7}));
}

TEST_F(row_selection_test, is_in_one_table_at_a_time) {
  selection.select_all(one_table, table());
  EXPECT_TRUE(selection.all());
  selection.extend_to(other_table, table(), 4);
  EXPECT_FALSE(selection.in(one_table));
  EXPECT_EQ(selection.anchor(), 4U);
}

TEST_F(row_selection_test, of_all_rows_grows_with_the_table) {
  selection.select_all(one_table, table());
  values.push_back(10);
  selection.follow(table());
  EXPECT_EQ(selection.words(), "11 rows selected");
}

TEST_F(row_selection_test, ends_when_other_rows_are_in_its_places) {
  selection.start_at(one_table, table(), 1);
  selection.extend_to(one_table, table(), 3);
  values.push_back(10);
  selection.follow(table());
  EXPECT_TRUE(selection.in(one_table));
  values[3] = 99;
  selection.follow(table());
  EXPECT_FALSE(selection.in(one_table));
}

TEST_F(row_selection_test, of_a_table_with_more_rows_than_are_known_has_no_number) {
  table_of<int> part = table();
  part.whole = [](bool) {};
  selection.select_all(one_table, part);
  EXPECT_EQ(selection.words(), "All rows selected");
}

}  // namespace
}  // namespace sluice::gui
