#pragma once

#include <cassert>
#include <cstdint>
#include <type_traits>

#include "core/trace/model/schema.hpp"

namespace sluice::trace {

/// Returns the column number of a member; 0 if the member has no column.
template <class Row, class Class, class Member>
[[nodiscard]] constexpr std::uint16_t to_number(Member Class::*member) {
  std::uint16_t number = 0;
  const auto look = [&](const auto& field) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(field.member)>, Member Class::*>) {
      if (field.member == member) number = field.number;
    }
  };
  schema<Row>::apply([&](const auto&... fields) { (look(fields), ...); });
  return number;
}

/// The columns of a row type that a reader needs. The member of an omitted column keeps its default, unless all rows of
/// the chunk have the same value: reading that value costs nothing, so the member may get it.
template <class Row>
class column_set {
 public:
  /// Creates a set of all columns.
  constexpr column_set() = default;
  /// Returns the set of the columns of `members`. Each member must have a column.
  template <class... Members>
  [[nodiscard]] static constexpr column_set of(Members... members) {
    assert(((to_number<Row>(members) != 0) && ...));
    return column_set((bit(to_number<Row>(members)) | ...));
  }
  [[nodiscard]] constexpr column_set operator|(column_set more) const { return column_set(bits_ | more.bits_); }
  /// Bit n is set if the column with number n is in the set.
  [[nodiscard]] constexpr std::uint64_t bits() const { return bits_; }
  [[nodiscard]] constexpr bool has(std::uint16_t number) const { return (bits_ & bit(number)) != 0; }

 private:
  constexpr explicit column_set(std::uint64_t bits) : bits_(bits) {}
  [[nodiscard]] static constexpr std::uint64_t bit(std::uint16_t number) { return std::uint64_t{1} << number; }
  std::uint64_t bits_ = ~std::uint64_t{0};  ///< Bit n: column number n. No row type has a column number above 63.
};

}  // namespace sluice::trace
