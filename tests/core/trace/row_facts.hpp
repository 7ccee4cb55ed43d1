#pragma once

#include <xxhash.h>

#include <bit>
#include <cstdint>
#include <string>
#include <type_traits>

#include "core/trace/model/schema.hpp"

/// Formats rows as facts: the numbers of their nonempty members in the file, with the values. Members that a later
/// version adds are empty in an older file, so facts that were noted for that file stay true.
namespace sluice::trace::testing {

template <class Member>
std::string get_fact(const Member& member) {
  if constexpr (std::is_same_v<Member, std::string>) {
    return member;
  } else if constexpr (std::is_same_v<Member, double>) {
    return std::to_string(std::bit_cast<std::uint64_t>(member));
  } else {
    return std::to_string(static_cast<std::int64_t>(member));
  }
}

/// The facts of a row: "1=5 2=1000 ...".
template <class Row>
std::string get_facts(const Row& row) {
  static const Row nothing{};
  std::string facts;
  const auto add = [&](const auto& column) {
    if (row.*column.member == nothing.*column.member) return;
    facts += (facts.empty() ? "" : " ") + std::to_string(column.number) + "=" + get_fact(row.*column.member);
  };
  schema<Row>::apply([&](const auto&... column) { (add(column), ...); });
  return facts;
}

/// A checksum of the rows of one kind: their number and the sum of their facts' hashes, which does not depend on the
/// order of the rows.
struct row_sum {
  std::uint64_t rows = 0;
  std::uint64_t hash = 0;
  template <class Row>
  void add(const Row& row) {
    const std::string facts = get_facts(row);
    rows += 1;
    hash += XXH3_64bits(facts.data(), facts.size());
  }
};

/// A row with a different value in each member. The values depend only on `which`.
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
