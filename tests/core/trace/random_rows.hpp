#pragma once

#include <random>
#include <string>
#include <type_traits>

#include "core/trace/schema.hpp"

/// Rows with every member random, through the schema: what a round trip must bring back.
namespace sluice::trace::testing {

template <class Member>
void randomise(Member& member, std::mt19937_64& random) {
  // Small numbers most of the time, extremes now and then: both lengths of varint, and wrap-around of differences.
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
  std::apply([&](const auto&... column) { (randomise(row.*column.member, random), ...); }, schema<Row>::fields);
  return row;
}

template <class Row>
bool same(const Row& a, const Row& b) {
  return std::apply([&](const auto&... column) { return ((a.*column.member == b.*column.member) && ...); },
                    schema<Row>::fields);
}

}  // namespace sluice::trace::testing
