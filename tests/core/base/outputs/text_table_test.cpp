#include "core/base/outputs/text_table.hpp"

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(text_table, aligns_columns_by_characters) {
  text_table table("lr");
  table.row({"µs", "1"});
  table.row({"long", "100"});
  table.row({"", ""});
  EXPECT_EQ(table.text(1), " µs      1\n long  100\n\n");
}

TEST(text_table, shows_no_more_cells_than_it_has_columns) {
  text_table table("l");
  table.row({"a", "beyond"});
  EXPECT_EQ(table.text(0), "a\n");
}

TEST(text_table, keeps_a_cell_in_its_line) {
  text_table table("l");
  table.row({"a\nb\x1b"});
  EXPECT_EQ(table.text(0), "a\\nb\\x1b\n");
}

TEST(text_table, is_no_wider_than_its_limit_except_for_its_first_row) {
  text_table table("lr", 3);
  table.row({"title", "n"});
  table.row({"abcdefg", "12345"});
  table.row({"a", "1"});
  EXPECT_EQ(table.text(0), "title    n\nabcdefg  12345\na        1\n");
}

TEST(text_table, keeps_the_widths_of_the_rows_that_were_taken_first) {
  text_table table("rl");
  table.row({"100", "a"});
  EXPECT_EQ(table.take(), "100  a\n");
  EXPECT_TRUE(table.empty());
  table.row({"1", "b"});
  table.row({"10000", "c"});
  EXPECT_EQ(table.take(), "  1  b\n10000  c\n");
}

TEST(text_builder, adds_one_line_whatever_the_names_in_it) {
  text_builder text;
  text.line("{}: {}", "a\nb", 1);
  text.line("\n{}", "after an empty line");
  text_table table("l");
  table.row({"cell"});
  text.add(table, 2);
  text.add("as it is\n");
  EXPECT_EQ(text.take(), "a\\nb: 1\n\nafter an empty line\n  cell\nas it is\n");
}

}  // namespace
}  // namespace sluice
