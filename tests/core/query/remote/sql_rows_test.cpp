// The rows of an SQL query as bytes: they arrive unchanged, and bytes that are not rows are refused.
#include "core/query/remote/sql_rows.hpp"

#include <gtest/gtest.h>

#include <random>

namespace sluice::query {
namespace {

/// A result of two columns and `rows` rows.
sql_result make_rows(std::uint64_t rows) {
  sql_result made;
  made.columns = {{"id", id_kind::block}, {"label", id_kind::none}};
  made.rows = rows;
  made.cut = true;
  made.seconds = 1.5;
  sql_block block;
  for (std::uint64_t row = 1; row <= rows; ++row) {
    block.cells.insert(block.cells.end(), {std::to_string(row), std::string(row % 7, 'x')});
    block.values.insert(block.values.end(), {-static_cast<std::int64_t>(row), 0});
    block.numbers.insert(block.numbers.end(), {true, false});
    if (row % sql_result::block_rows != 0 && row != rows) continue;
    made.blocks.push_back(std::make_shared<const sql_block>(std::exchange(block, {})));
  }
  return made;
}

TEST(sql_rows, arrive_as_they_were_sent) {
  for (const std::uint64_t rows : {0U, 1U, 256U, 600U}) {
    const sql_result sent = make_rows(rows);
    const auto came = decode_rows(encode_rows(sent));
    ASSERT_TRUE(came) << came.error().to_string();
    EXPECT_EQ(came->rows, rows);
    EXPECT_EQ(came->blocks.size(), sent.blocks.size());
    EXPECT_TRUE(came->cut);
    EXPECT_EQ(came->seconds, 1.5);
    ASSERT_EQ(came->columns.size(), 2U);
    EXPECT_EQ(came->columns[0].name, "id");
    EXPECT_EQ(came->columns[0].id, id_kind::block);
    for (std::uint64_t row = 0; row < rows; ++row)
      for (std::size_t column = 0; column < 2; ++column) {
        ASSERT_EQ(came->text(row, column), sent.text(row, column)) << row;
        ASSERT_EQ(came->id(row, column), sent.id(row, column)) << row;
        ASSERT_EQ(came->is_number(row, column), sent.is_number(row, column)) << row;
      }
  }
}

TEST(sql_rows, that_end_too_early_or_too_late_are_refused) {
  const auto good = encode_rows(make_rows(3));
  for (std::size_t bytes = 0; bytes < good.size(); ++bytes)
    EXPECT_EQ(decode_rows(std::span(good).first(bytes)).error().code, error_code::corrupt) << bytes;
  auto longer = good;
  longer.push_back({});
  EXPECT_FALSE(decode_rows(longer));
}

TEST(sql_rows, that_are_damaged_are_refused_or_harmless) {
  std::mt19937_64 random(7);
  const auto good = encode_rows(make_rows(300));
  for (int i = 0; i < 2'000; ++i) {
    auto bad = good;
    bad[random() % bad.size()] ^= static_cast<std::byte>(1U << (random() % 8));
    const auto came = decode_rows(bad);
    if (!came) continue;
    for (std::uint64_t row = 0; row < came->rows; ++row)
      for (std::size_t column = 0; column < came->columns.size(); ++column) static_cast<void>(came->text(row, column));
  }
}

TEST(sql_rows, of_a_number_that_is_only_said_are_refused) {
  sql_result claim = make_rows(1);
  claim.rows = ~std::uint64_t{0};
  EXPECT_FALSE(decode_rows(encode_rows(claim)));
  claim.columns.clear();
  claim.blocks.clear();
  EXPECT_FALSE(decode_rows(encode_rows(claim))) << "rows without columns have no bytes";
}

TEST(sql_rows, with_a_kind_of_id_that_does_not_exist_are_refused) {
  sql_result odd = make_rows(1);
  odd.columns[1].id = static_cast<id_kind>(200);
  EXPECT_FALSE(decode_rows(encode_rows(odd)));
}

}  // namespace
}  // namespace sluice::query
