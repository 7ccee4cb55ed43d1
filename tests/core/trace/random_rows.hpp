#pragma once

#include <random>
#include <string>
#include <type_traits>

#include "core/trace/model/schema.hpp"

/// Makes rows whose members all have random values, set through the schema: a round trip must return them unchanged.
namespace sluice::trace::testing {

template <class Member>
void randomise(Member& member, std::mt19937_64& random) {
  // Mostly small numbers, sometimes extremes: covers both lengths of varint, and wrap-around of differences.
  const std::uint64_t bits = random() % 4 == 0 ? random() : random() % 1000;
  if constexpr (std::is_same_v<Member, std::string>) {
    member.assign(random() % 40, static_cast<char>('a' + random() % 26));
  } else if constexpr (std::is_same_v<Member, bool>) {
    member = (bits & 1) != 0;
  } else if constexpr (std::is_same_v<Member, double>) {
    member = static_cast<double>(bits) / 3;
  } else if constexpr (std::is_enum_v<Member>) {
    member = static_cast<Member>(enum_values<Member> != 0 ? bits % enum_values<Member> : bits);
  } else {
    member = static_cast<Member>(bits);
  }
}

template <class Row>
Row random_row(std::mt19937_64& random) {
  Row row;
  schema<Row>::apply([&](const auto&... column) { (randomise(row.*column.member, random), ...); });
  return row;
}

/// A successor of the row `before`, as in a recording: each column stays the same, grows a little, repeats a few
/// values, or jumps. Which of these a column does depends on `turn`.
template <class Row>
Row row_after(const Row& before, std::mt19937_64& random, unsigned turn) {
  Row row = random_row<Row>(random);
  unsigned way = turn;
  const auto set = [&](const auto& column) {
    using member = std::remove_cvref_t<decltype(row.*column.member)>;
    ++way;
    if (way % 4 == 0) row.*column.member = before.*column.member;
    if constexpr (std::is_integral_v<member> && !std::is_same_v<member, bool>) {
      using bits = std::make_unsigned_t<member>;
      const auto step = static_cast<bits>(random() % 300);
      if (way % 4 == 1) row.*column.member = static_cast<member>(static_cast<bits>(before.*column.member) + step);
      if (way % 4 == 2) row.*column.member = static_cast<member>(step % 5);
    }
  };
  schema<Row>::apply([&](const auto&... column) { (set(column), ...); });
  return row;
}

template <class Row>
bool same(const Row& a, const Row& b) {
  return schema<Row>::apply([&](const auto&... column) { return ((a.*column.member == b.*column.member) && ...); });
}

}  // namespace sluice::trace::testing
