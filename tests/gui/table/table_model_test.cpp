// The model of tables: cells, copying, CSV and sorting.
#include "app/gui/views/table/table_model.hpp"

#include <gtest/gtest.h>

#include "core/base/format.hpp"

namespace sluice::gui {
namespace {

struct sized_part {
  const char* name;
  std::uint64_t bytes;
  std::optional<time_ns> used;
};

const std::vector<sized_part> some_parts{
    {"=1+1", 3 << 20, -5}, {"a \"b\", c", 1 << 20, std::nullopt}, {"b", 9 << 20, 8'000}};

table_of<sized_part> make_parts() {
  table_of<sized_part> table("Parts", some_parts);
  table.text("name", "name", [](const auto& each) { return each.name; });
  table.bytes("size", "bytes", [](const auto& each) { return each.bytes; });
  table.duration("used", "used_ns", [](const auto& each) { return each.used; });
  table.count("", "row", [](const auto&, std::size_t row) { return row; });
  table.share("share", "share", [](const auto&) { return 0.25; });
  return table;
}

std::vector<std::string> shown_names(const table_model& table) {
  std::vector<std::string> found;
  for (std::size_t row = 0; row < table.rows; ++row) found.push_back(table.cell(row, 0).shown());
  return found;
}

TEST(table_cell, shows_a_unit_and_writes_a_plain_number) {
  const auto expect = [](const table_cell& cell, const std::string& shown, const std::string& plain) {
    EXPECT_EQ(cell.shown(), shown);
    EXPECT_EQ(cell.plain(), plain);
  };
  expect(table_cell::bytes(std::uint64_t{3} << 20), format_bytes(3.0 * (1 << 20)), "3145728");
  expect(table_cell::duration(-5), format_time(-5), "-5");
  expect(table_cell::share(0.25), format_share(0.25), "0.25");
  expect(table_cell::words("8 blocks", "8"), "8 blocks", "8");
  expect(table_cell::none("never"), "never", "");
  expect(table_cell::make(cell_type::moment, std::optional<time_ns>()), "-", "");
}

TEST(table_cell, is_sorted_by_its_number_in_whatever_words_it_is_shown) {
  EXPECT_EQ(table_cell::words("8 blocks", "8").number(), 8.0);
  EXPECT_EQ(table_cell::rate(1e9).number(), 1e9);
  EXPECT_EQ(table_cell::text("8 blocks").number(), std::nullopt);
  EXPECT_EQ(table_cell::none().number(), std::nullopt);
}

TEST(table_model, writes_csv_with_a_header_plain_numbers_and_no_formulas) {
  EXPECT_EQ(make_parts().to_csv(),
            "name,bytes,used_ns,row,share\n"
            "\"'=1+1\",3145728,-5,0,0.25\n"
            "\"a \"\"b\"\", c\",1048576,,1,0.25\n"
            "b,9437184,8000,2,0.25\n");
}

TEST(table_model, copies_a_row_as_the_panel_shows_it) {
  EXPECT_EQ(make_parts().text_of_row(1), "a \"b\", c\t" + format_bytes(1.0 * (1 << 20)) + "\t-\t" + format_share(0.25));
}

TEST(table_model, sorts_by_value_and_puts_rows_without_a_value_last) {
  table_of<sized_part> table = make_parts();
  table.order = table.sorted({1, true});
  EXPECT_EQ(shown_names(table), (std::vector<std::string>{"b", "=1+1", "a \"b\", c"}));
  for (const bool descending : {false, true}) EXPECT_EQ(table.sorted({2, descending}).back(), 1U);
  table.order = table.sorted({0, false});
  EXPECT_EQ(shown_names(table), (std::vector<std::string>{"=1+1", "a \"b\", c", "b"}));
  EXPECT_EQ(table.to_csv().find("name,bytes"), 0U);
}

TEST(table_model, writes_only_the_chosen_rows_in_the_order_that_is_shown) {
  table_of<sized_part> table = make_parts();
  table.order = table.sorted({1, true});
  row_set first;
  first.choose(0, 0);
  EXPECT_EQ(table.to_csv(&first), "name,bytes,used_ns,row,share\nb,9437184,8000,2,0.25\n");
}

TEST(table_model, lists_only_the_rows_that_pass_a_filter) {
  table_of<sized_part> table("Parts", some_parts, [](const sized_part& each) { return each.used.has_value(); });
  table.text("name", "name", [](const auto& each) { return each.name; });
  EXPECT_EQ(shown_names(table), (std::vector<std::string>{"=1+1", "b"}));
}

TEST(table_model, counts_chosen_rows_and_adds_up_their_sizes) {
  row_set two;
  two.choose(0, 1);
  table_of<sized_part> table = make_parts();
  EXPECT_EQ(table.describe(two), "2 rows selected, " + format_bytes(4.0 * (1 << 20)));
  table.bytes("spare", "spare_bytes", [](const auto& each) { return each.bytes; });
  EXPECT_EQ(table.describe(two), "2 rows selected, size " + format_bytes(4.0 * (1 << 20))) << "says which of two";
}

}  // namespace
}  // namespace sluice::gui
