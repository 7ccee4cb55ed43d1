#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "core/trace/columns/column_values.hpp"
#include "core/trace/columns/row_columns.hpp"
#include "core/trace/model/schema.hpp"

namespace sluice::trace {

/// One member of all rows of a chunk.
template <class Member>
class member_values {
 public:
  /// Of a column of one value for all rows, or of one for each.
  member_values(const std::uint64_t* values, bool varies) : values_(values), mask_(varies ? SIZE_MAX : 0) {}

  [[nodiscard]] bool is_constant() const { return mask_ == 0; }
  [[nodiscard]] Member operator[](std::size_t row) const {
    Member value{};
    static_cast<void>(from_bits(values_[row & mask_], value));  // It fits: that was seen to when it was decoded.
    return value;
  }

 private:
  const std::uint64_t* values_;
  std::size_t mask_;
};

/// The rows of a chunk as its columns have them: for who keeps something else than rows, a list of which would be written and read again
/// for nothing. Rows without texts only. Its memory is used again. Not thread-safe.
template <class Row>
class row_values {
 public:
  [[nodiscard]] std::size_t size() const { return rows_; }
  /// Of a member that has a column. Good until another chunk is read.
  template <class Class, class Member>
  [[nodiscard]] member_values<Member> of(Member Class::*member) const {
    const column& found = columns_[place_of(member)];
    return {found.varies ? found.values : &found.alike, found.varies};
  }

  /// Forgets all, for `rows` others that are alike: as rows are by default.
  void begin(std::size_t rows) {
    rows_ = rows;
    const std::size_t wanted = field_count<Row> * rows;
    if (values_.size() > most_kept && wanted <= most_kept) std::vector<std::uint64_t>().swap(values_);
    if (values_.size() < wanted) values_.resize(wanted);
    std::size_t place = 0;
    const Row usual{};
    const auto set = [&](const auto& field) { set_all(place++, to_bits(usual.*field.member)); };
    schema<Row>::apply([&](const auto&... fields) { (set(fields), ...); });
  }
  /// Of the column at `place` in the schema: all rows have this value.
  void set_all(std::size_t place, std::uint64_t value) { columns_[place] = {value, false, nullptr}; }
  /// Each row has one of its own, to be put here.
  [[nodiscard]] std::span<std::uint64_t> set_each(std::size_t place) {
    const auto values = std::span(values_).subspan(place * rows_, rows_);
    columns_[place] = {0, true, values.data()};
    return values;
  }

 private:
  /// Beyond that its memory is used again only by what needs as much.
  static constexpr std::size_t most_kept = (std::size_t{2} << 20) / sizeof(std::uint64_t);
  struct column {
    std::uint64_t alike = 0;
    bool varies = false;
    const std::uint64_t* values = nullptr;
  };
  template <class Class, class Member>
  [[nodiscard]] static std::size_t place_of(Member Class::*member) {
    std::size_t found = 0, place = 0;
    const auto look = [&](const auto& field) {
      if constexpr (std::is_same_v<std::remove_cvref_t<decltype(field.member)>, Member Class::*>) {
        if (field.member == member) found = place;
      }
      ++place;
    };
    schema<Row>::apply([&](const auto&... fields) { (look(fields), ...); });
    return found;
  }

  std::size_t rows_ = 0;
  std::array<column, field_count<Row>> columns_{};
  std::vector<std::uint64_t>
      values_;  ///< A row's worth of them for each column; of a chunk before, what nothing was put into.
};

}  // namespace sluice::trace
