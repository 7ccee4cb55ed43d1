#pragma once

#include <cassert>
#include <cstdint>
#include <type_traits>

#include "core/trace/model/schema.hpp"

namespace sluice::trace {

/// The number of a member's column; 0 if it has none.
template <class Row, class Class, class Member>
[[nodiscard]] constexpr std::uint16_t number_of(Member Class::*member) {
  std::uint16_t number = 0;
  const auto look = [&](const auto& field) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(field.member)>, Member Class::*>) {
      if (field.member == member) number = field.number;
    }
  };
  schema<Row>::apply([&](const auto&... fields) { (look(fields), ...); });
  return number;
}

/// Columns of a kind of rows that somebody reads. Those left out keep what their members have by default, or what all rows of a chunk
/// have in common, which costs nothing to read.
template <class Row>
class column_set {
 public:
  /// All.
  constexpr column_set() = default;
  /// Those of these members, which must have columns.
  template <class... Members>
  [[nodiscard]] static constexpr column_set of(Members... members) {
    assert(((number_of<Row>(members) != 0) && ...));
    return column_set((bit(number_of<Row>(members)) | ...));
  }
  [[nodiscard]] constexpr column_set operator|(column_set more) const { return column_set(bits_ | more.bits_); }
  /// A bit for each, by number.
  [[nodiscard]] constexpr std::uint64_t bits() const { return bits_; }
  [[nodiscard]] constexpr bool has(std::uint16_t number) const { return (bits_ & bit(number)) != 0; }

 private:
  constexpr explicit column_set(std::uint64_t bits) : bits_(bits) {}
  [[nodiscard]] static constexpr std::uint64_t bit(std::uint16_t number) { return std::uint64_t{1} << number; }
  std::uint64_t bits_ = ~std::uint64_t{0};  ///< By number: no kind of rows has one above 63.
};

}  // namespace sluice::trace
