#pragma once

#include <xxhash.h>

#include <bit>
#include <cstdint>
#include <string>
#include <type_traits>

#include "core/trace/model/schema.hpp"

/// A row as its facts: the members that hold something, by their numbers in the file. Members that a later version adds
/// hold nothing in an older file, so what is written down here of a file stays true of it.
namespace sluice::trace::testing {

template <class Member>
std::string fact_of(const Member& member) {
  if constexpr (std::is_same_v<Member, std::string>) {
    return member;
  } else if constexpr (std::is_same_v<Member, double>) {
    return std::to_string(std::bit_cast<std::uint64_t>(member));
  } else {
    return std::to_string(static_cast<std::int64_t>(member));
  }
}

/// "1=5 2=1000 ...".
template <class Row>
std::string facts_of(const Row& row) {
  static const Row nothing{};
  std::string facts;
  const auto add = [&](const auto& column) {
    if (row.*column.member == nothing.*column.member) return;
    facts += (facts.empty() ? "" : " ") + std::to_string(column.number) + "=" + fact_of(row.*column.member);
  };
  schema<Row>::apply([&](const auto&... column) { (add(column), ...); });
  return facts;
}

/// The rows of one kind: how many, and the sum of the hashes of their facts, which does not know their order.
struct row_sum {
  std::uint64_t rows = 0;
  std::uint64_t hash = 0;
  template <class Row>
  void add(const Row& row) {
    const std::string facts = facts_of(row);
    rows += 1;
    hash += XXH3_64bits(facts.data(), facts.size());
  }
};

/// A row with a value of its own in each member, the same at every run.
template <class Row>
Row fixed_row(std::uint64_t which) {
  Row row;
  const auto fill = [&](const auto& column) {
    auto& member = row.*column.member;
    using member_type = std::remove_reference_t<decltype(member)>;
    const std::uint64_t value = 1000 * static_cast<std::uint64_t>(type_of_row<Row>) + 10 * column.number + which;
    if constexpr (std::is_same_v<member_type, std::string>) {
      member = "text " + std::to_string(value);
    } else if constexpr (std::is_same_v<member_type, bool>) {
      member = true;
    } else if constexpr (std::is_same_v<member_type, double>) {
      member = static_cast<double>(value) / 8;
    } else if constexpr (std::is_enum_v<member_type>) {
      constexpr std::uint64_t values = enum_values<member_type>;
      member = static_cast<member_type>(values != 0 ? 1 + value % (values - 1) : value);
    } else {
      member = static_cast<member_type>(value);
    }
  };
  schema<Row>::apply([&](const auto&... column) { (fill(column), ...); });
  return row;
}

}  // namespace sluice::trace::testing
