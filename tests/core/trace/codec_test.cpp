#include "core/trace/codec.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "tests/core/trace/random_rows.hpp"

namespace sluice::trace {
namespace {

template <class Row>
class codec : public ::testing::Test {};

#define SLUICE_TYPE(row, kind) row,
using all_rows = ::testing::Types<SLUICE_FOR_EACH_ROW(SLUICE_TYPE) index_row>;
#undef SLUICE_TYPE
TYPED_TEST_SUITE(codec, all_rows);

TYPED_TEST(codec, brings_every_member_back) {
  std::mt19937_64 random(7);
  for (const std::size_t count : {1u, 2u, 1000u}) {
    std::vector<TypeParam> rows;
    for (std::size_t i = 0; i < count; ++i) rows.push_back(testing::random_row<TypeParam>(random));
    std::vector<std::byte> payload;
    encode_rows<TypeParam>(rows, payload);
    const auto decoded = decode_rows<TypeParam>(payload, count);
    ASSERT_TRUE(decoded) << decoded.error().to_string();
    ASSERT_EQ(decoded->size(), count);
    for (std::size_t i = 0; i < count; ++i) ASSERT_TRUE(testing::same((*decoded)[i], rows[i])) << "row " << i;
  }
}

TYPED_TEST(codec, gives_each_member_a_number_of_its_own) {
  std::vector<unsigned> numbers;
  std::apply([&](const auto&... column) { (numbers.push_back(column.number), ...); }, schema<TypeParam>::fields);
  std::sort(numbers.begin(), numbers.end());
  EXPECT_EQ(std::adjacent_find(numbers.begin(), numbers.end()), numbers.end());
}

TYPED_TEST(codec, refuses_or_survives_damaged_bytes) {
  std::mt19937_64 random(11);
  std::vector<TypeParam> rows;
  for (int i = 0; i < 50; ++i) rows.push_back(testing::random_row<TypeParam>(random));
  std::vector<std::byte> payload;
  encode_rows<TypeParam>(rows, payload);
  for (int round = 0; round < 300; ++round) {
    auto damaged = payload;
    for (int hit = 0; hit < 3; ++hit) damaged[random() % damaged.size()] = static_cast<std::byte>(random());
    if (round % 3 == 0) damaged.resize(random() % damaged.size());
    const auto decoded = decode_rows<TypeParam>(damaged, rows.size());
    if (decoded) {
      EXPECT_EQ(decoded->size(), rows.size());
    } else {
      EXPECT_EQ(decoded.error().code, error_code::corrupt);
      EXPECT_LT(decoded.error().offset, damaged.size() + 1);
    }
  }
}

TEST(codec_errors, a_claim_of_too_many_rows_is_refused_before_memory_is_taken) {
  EXPECT_EQ(decode_rows<alloc_event>({}, std::size_t{1} << 40).error().code, error_code::corrupt);
}

TEST(codec_errors, an_enum_value_of_a_newer_writer_reads_as_unknown) {
  alloc_event row;
  row.kind = static_cast<memory_kind>(200);
  std::vector<std::byte> payload;
  encode_rows<alloc_event>(std::span(&row, 1), payload);
  const auto decoded = decode_rows<alloc_event>(payload, 1);
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->front().kind, memory_kind::unknown);
}

TEST(codec_errors, a_column_of_a_newer_writer_is_skipped) {
  marker_event row;
  row.step = 42;
  std::vector<std::byte> payload;
  encode_rows<marker_event>(std::span(&row, 1), payload);
  const std::uint16_t number = 999;
  const std::uint32_t length = 3;
  std::vector<std::byte> column(11, std::byte{0xff});
  std::memcpy(column.data(), &number, sizeof number);
  std::memcpy(column.data() + 4, &length, sizeof length);
  payload.insert(payload.begin(), column.begin(), column.end());
  const auto decoded = decode_rows<marker_event>(payload, 1);
  ASSERT_TRUE(decoded) << decoded.error().to_string();
  EXPECT_EQ(decoded->front().step, 42);
}

}  // namespace
}  // namespace sluice::trace
