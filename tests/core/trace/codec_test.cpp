#include "core/trace/columns/codec.hpp"
#include "core/base/saturating.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "core/trace/columns/byte_cursor.hpp"
#include "core/trace/columns/row_values.hpp"
#include "tests/core/trace/random_rows.hpp"

namespace sluice::trace {
namespace {

template <class Row>
class codec : public ::testing::Test {};

#define SLUICE_TYPE(row, kind) row,
using all_rows = ::testing::Types<SLUICE_FOR_EACH_ROW(SLUICE_TYPE) SLUICE_FOR_EACH_SUMMARY_ROW(SLUICE_TYPE) index_row>;
#undef SLUICE_TYPE
TYPED_TEST_SUITE(codec, all_rows);

TYPED_TEST(codec, brings_every_member_back) {
  std::mt19937_64 random(7);
  for (const std::size_t count : {1u, 2u, 1000u}) {
    std::vector<TypeParam> rows;
    for (std::size_t i = 0; i < count; ++i) rows.push_back(testing::random_row<TypeParam>(random));
    std::vector<std::byte> payload;
    row_encoder().encode<TypeParam>(rows, payload);
    std::vector<TypeParam> decoded;
    const auto got = decode_rows<TypeParam>(payload, count, decoded);
    ASSERT_TRUE(got) << got.error().to_string();
    ASSERT_EQ(decoded.size(), count);
    for (std::size_t i = 0; i < count; ++i) ASSERT_TRUE(testing::same(decoded[i], rows[i])) << "row " << i;
  }
}

/// The value of a member of row `at` in an array of rows, as text.
std::string get_value(const row_layout& layout, const member_layout& member, const void* rows, std::size_t at) {
  const auto* row = static_cast<const std::byte*>(rows) + at * layout.bytes;
  if (member.is_text()) return *reinterpret_cast<const std::string*>(row + member.offset);
  return std::to_string(load(member, row));
}

/// Expects the result of decoding only column `number`: the values of that column; for other columns the value that all
/// rows share, or the default if rows differ.
void expect_one_column(const row_layout& layout, std::uint16_t number, const void* decoded, const void* rows,
                       std::size_t count, const void* usual) {
  for (const member_layout& member : layout.members) {
    const auto value = [&](const void* subject, std::size_t at) { return get_value(layout, member, subject, at); };
    bool alike = true;
    for (std::size_t i = 1; i < count; ++i) alike = alike && value(rows, i) == value(rows, 0);
    const bool is_there = member.number == number || alike;
    for (std::size_t i = 0; i < count; ++i)
      ASSERT_EQ(value(decoded, i), is_there ? value(rows, i) : value(usual, 0))
          << "row " << i << ", column " << member.number << " where column " << number << " is wanted";
  }
}

TYPED_TEST(codec, reads_the_columns_that_are_wanted) {
  std::mt19937_64 random(13);
  constexpr std::size_t count = 300;
  std::vector<TypeParam> rows{testing::random_row<TypeParam>(random)};
  while (rows.size() < count) rows.push_back(testing::row_after(rows.back(), random, 0));
  std::vector<std::byte> payload;
  row_encoder().encode<TypeParam>(rows, payload);
  const TypeParam usual{};
  const auto check = [&](column_set<TypeParam> wanted, std::uint16_t number) {
    std::vector<TypeParam> decoded;
    ASSERT_TRUE(decode_rows<TypeParam>(payload, count, decoded, wanted));
    expect_one_column(get_layout<TypeParam>(), number, decoded.data(), rows.data(), count, &usual);
  };
  schema<TypeParam>::apply(
      [&](const auto&... fields) { (check(column_set<TypeParam>::of(fields.member), fields.number), ...); });
}

/// Encodes long chunks, one after another, with one encoder, which adapts to the first: realistic values, and outliers.
TYPED_TEST(codec, brings_chunks_back_that_it_encodes_by_habit) {
  std::mt19937_64 random(5);
  row_encoder encoder;
  for (unsigned chunk = 0; chunk < 5; ++chunk) {
    std::vector<TypeParam> rows{testing::random_row<TypeParam>(random)};
    const unsigned turn = chunk / 2;  // Chunks come in pairs: the chunks of a pair are similar, and each pair differs
                                      // from the previous pair.
    while (rows.size() < 700) rows.push_back(testing::row_after(rows.back(), random, turn));
    std::vector<std::byte> payload;
    encoder.encode<TypeParam>(rows, payload);
    std::vector<TypeParam> decoded;
    const auto got = decode_rows<TypeParam>(payload, rows.size(), decoded);
    ASSERT_TRUE(got) << got.error().to_string();
    for (std::size_t i = 0; i < rows.size(); ++i) ASSERT_TRUE(testing::same(decoded[i], rows[i])) << "row " << i;
  }
}

/// A chunk's header summarizes rising and other values correctly, compared with a scan of the rows.
TYPED_TEST(codec, knows_the_times_and_ids_of_its_rows) {
  std::mt19937_64 random(3);
  row_encoder encoder;
  for (unsigned chunk = 0; chunk < 6; ++chunk) {
    std::vector<TypeParam> rows{testing::random_row<TypeParam>(random)};
    while (rows.size() < 700) rows.push_back(testing::row_after(rows.back(), random, chunk / 2));
    std::vector<std::byte> payload;
    const row_extent extent = encoder.encode<TypeParam>(rows, payload).extent;
    row_extent expected;
    if constexpr (requires(TypeParam row) { row.time; }) {
      expected.min_time = INT64_MAX;
      expected.max_time = INT64_MIN;
      for (const TypeParam& row : rows) {
        expected.min_time = std::min(expected.min_time, row.time);
        expected.max_time = std::max(expected.max_time, row.time);
        if constexpr (requires { row.end; }) expected.max_time = std::max(expected.max_time, row.end);
        if constexpr (std::is_same_v<TypeParam, host_sample_event>)
          expected.max_time = std::max(expected.max_time, saturating_sum(row.time, std::max<time_ns>(row.length, 0)));
      }
    }
    if constexpr (is_event_row<TypeParam>) {
      expected.lowest_event = UINT64_MAX;
      for (const TypeParam& row : rows) {
        expected.lowest_event = std::min(expected.lowest_event, get_subject(row));
        expected.highest_event = std::max(expected.highest_event, get_subject(row));
      }
    }
    if constexpr (std::is_same_v<TypeParam, chunk_reach_row>) {
      expected.lowest_event = UINT64_MAX;
      for (const chunk_reach_row& row : rows) {
        expected.lowest_event = std::min(expected.lowest_event, row.lowest_event);
        expected.highest_event = std::max(expected.highest_event, row.highest_event);
      }
    }
    if constexpr (is_of_tile(type_of_row<TypeParam>)) {
      expected.lowest_event = UINT64_MAX;
      for (const TypeParam& row : rows) {
        std::uint64_t owner = 0;
        if constexpr (requires { row.curve; }) owner = row.curve;
        if constexpr (requires { row.lane; }) owner = row.lane;
        expected.lowest_event = std::min(expected.lowest_event, owner);
        expected.highest_event = std::max(expected.highest_event, owner);
      }
    }
    EXPECT_EQ(extent.min_time, expected.min_time);
    EXPECT_EQ(extent.max_time, expected.max_time);
    EXPECT_EQ(extent.lowest_event, expected.lowest_event);
    EXPECT_EQ(extent.highest_event, expected.highest_event);
  }
}

TYPED_TEST(codec, gives_each_member_a_number_of_its_own) {
  std::vector<unsigned> numbers;
  schema<TypeParam>::apply([&](const auto&... column) { (numbers.push_back(column.number), ...); });
  std::sort(numbers.begin(), numbers.end());
  EXPECT_EQ(std::adjacent_find(numbers.begin(), numbers.end()), numbers.end());
}

TYPED_TEST(codec, refuses_or_survives_damaged_bytes) {
  std::mt19937_64 random(11);
  std::vector<TypeParam> rows;
  for (int i = 0; i < 50; ++i) rows.push_back(testing::random_row<TypeParam>(random));
  std::vector<std::byte> payload;
  row_encoder().encode<TypeParam>(rows, payload);
  for (int round = 0; round < 300; ++round) {
    auto damaged = payload;
    for (int hit = 0; hit < 3; ++hit) damaged[random() % damaged.size()] = static_cast<std::byte>(random());
    if (round % 3 == 0) damaged.resize(random() % damaged.size());
    std::vector<TypeParam> decoded;
    const auto got = decode_rows<TypeParam>(damaged, rows.size(), decoded);
    if (got) {
      EXPECT_EQ(decoded.size(), rows.size());
    } else {
      EXPECT_EQ(got.error().code, error_code::corrupt);
      EXPECT_LT(got.error().offset, damaged.size() + 1);
    }
  }
}

TEST(codec_errors, a_claim_of_too_many_rows_is_refused_before_memory_is_taken) {
  std::vector<alloc_event> decoded;
  EXPECT_EQ(decode_rows<alloc_event>({}, std::size_t{1} << 40, decoded).error().code, error_code::corrupt);
  EXPECT_EQ(decoded.capacity(), 0U);
}

/// Each column would take at least a hundred bytes in memory, but only three in the file.
TEST(codec_errors, more_columns_than_any_row_has_are_refused) {
  std::vector<std::byte> payload;
  const std::size_t columns = max_chunk_columns + 1;
  put_varint(payload, columns);
  const std::byte constant[] = {std::byte{100}, std::byte{0}, std::byte{0}};
  for (std::size_t i = 0; i < columns; ++i) payload.insert(payload.end(), std::begin(constant), std::end(constant));
  std::vector<alloc_event> decoded;
  const auto got = decode_rows<alloc_event>(payload, 1, decoded);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, error_code::corrupt);
}

TEST(codec_errors, an_enum_value_of_a_newer_writer_reads_as_unknown) {
  alloc_event row;
  row.kind = static_cast<memory_kind>(200);
  std::vector<std::byte> payload;
  row_encoder().encode<alloc_event>(std::span(&row, 1), payload);
  std::vector<alloc_event> decoded;
  const auto got = decode_rows<alloc_event>(payload, 1, decoded);
  ASSERT_TRUE(got);
  EXPECT_EQ(decoded.front().kind, memory_kind::unknown);
}

TEST(codec_errors, a_column_of_a_newer_writer_is_skipped) {
  marker_event row;
  row.step = 42;
  std::vector<std::byte> payload;
  row_encoder().encode<marker_event>(std::span(&row, 1), payload);
  // Adds a column with the constant value 5.
  payload.front() = static_cast<std::byte>(std::to_integer<unsigned>(payload.front()) + 1);
  const std::byte column[] = {std::byte{0xe7}, std::byte{0x07}, std::byte{0}, std::byte{10}};
  payload.insert(payload.begin() + 1, std::begin(column), std::end(column));
  std::vector<marker_event> decoded;
  const auto got = decode_rows<marker_event>(payload, 1, decoded);
  ASSERT_TRUE(got) << got.error().to_string();
  EXPECT_EQ(decoded.front().step, 42);
}

/// Rows of tiles, which are read by column.
template <class Row>
class columns_of_rows : public ::testing::Test {
 protected:
  /// Expects the same result as from `decode_rows` for a valid or invalid payload.
  static void expect_the_same(std::span<const std::byte> payload, std::size_t count, row_values<Row>& values) {
    std::vector<Row> rows;
    const auto as_rows = decode_rows<Row>(payload, count, rows);
    const auto as_values = decode_values<Row>(payload, count, values);
    ASSERT_EQ(as_rows.has_value(), as_values.has_value());
    if (!as_rows) {
      EXPECT_EQ(as_values.error().code, error_code::corrupt);
      return;
    }
    ASSERT_EQ(values.size(), count);
    const auto check = [&](const auto& field) {
      const auto column = values.of(field.member);
      for (std::size_t i = 0; i < count; ++i)
        ASSERT_EQ(to_bits(column[i]), to_bits(rows[i].*field.member)) << "row " << i << ", column " << field.number;
    };
    schema<Row>::apply([&](const auto&... fields) { (check(fields), ...); });
  }
};
using rows_of_tiles = ::testing::Types<curve_bin_row, integer_bin_row, lane_bin_row>;
TYPED_TEST_SUITE(columns_of_rows, rows_of_tiles);

TYPED_TEST(columns_of_rows, say_what_the_rows_say) {
  std::mt19937_64 random(17);
  row_encoder encoder;
  row_values<TypeParam> values;
  // Reuses one buffer for long, short and empty chunks, and for a chunk that is larger than the kept buffer.
  for (const std::size_t count : {1000U, 10U, 0U, 65'536U, 300U}) {
    std::vector<TypeParam> rows;
    for (std::size_t i = 0; i < count; ++i)
      rows.push_back(i == 0 ? testing::random_row<TypeParam>(random) : testing::row_after(rows.back(), random, 0));
    std::vector<std::byte> payload;
    encoder.encode<TypeParam>(rows, payload);
    this->expect_the_same(payload, count, values);
  }
}

TYPED_TEST(columns_of_rows, are_refused_where_the_rows_are) {
  std::mt19937_64 random(19);
  std::vector<TypeParam> rows;
  for (int i = 0; i < 50; ++i) rows.push_back(testing::random_row<TypeParam>(random));
  std::vector<std::byte> payload;
  row_encoder().encode<TypeParam>(rows, payload);
  row_values<TypeParam> values;
  for (int round = 0; round < 300; ++round) {
    auto damaged = payload;
    for (int hit = 0; hit < 3; ++hit) damaged[random() % damaged.size()] = static_cast<std::byte>(random());
    if (round % 3 == 0) damaged.resize(random() % damaged.size());
    this->expect_the_same(damaged, rows.size(), values);
  }
  EXPECT_EQ(decode_values<TypeParam>(payload, std::size_t{1} << 40, values).error().code, error_code::corrupt);
}

}  // namespace
}  // namespace sluice::trace
