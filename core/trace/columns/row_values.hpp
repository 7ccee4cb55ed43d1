#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "core/trace/columns/column_values.hpp"
#include "core/trace/columns/row_layout.hpp"

namespace sluice::trace {

/// The values of one member in all rows of a chunk.
template <class Member>
class member_values {
 public:
  /// If `varies`, `values` has a value for each row; otherwise, it has one value for all rows.
  member_values(const std::uint64_t* values, bool varies) : values_(values), mask_(varies ? SIZE_MAX : 0) {}

  [[nodiscard]] bool is_constant() const { return mask_ == 0; }
  [[nodiscard]] Member operator[](std::size_t row) const {
    Member value{};
    static_cast<void>(from_bits(values_[row & mask_], value));  // The value always fits, because the decoder has
                                                                // checked it.
    return value;
  }

 private:
  const std::uint64_t* values_;
  std::size_t mask_;
};

/// The decoded columns of rows of one type. Not thread-safe.
class decoded_columns {
 public:
  [[nodiscard]] std::size_t size() const { return rows_; }

  /// Discards all values and prepares for `rows` rows of `layout`. Members have their defaults until they are set.
  void begin(const row_layout& layout, std::size_t rows);
  /// Gives the member at position `place` in the schema the same value in all rows.
  void set_all(std::size_t place, std::uint64_t value) { columns_[place] = {value, false, nullptr}; }
  /// Returns space for the values of the member at position `place` in the schema, one value per row. The caller must
  /// fill it.
  [[nodiscard]] std::span<std::uint64_t> set_each(std::size_t place) {
    const auto values = std::span(values_).subspan(place * rows_, rows_);
    columns_[place] = {0, true, values.data()};
    return values;
  }

 protected:
  struct column {
    std::uint64_t alike = 0;
    bool varies = false;
    const std::uint64_t* values = nullptr;
  };
  [[nodiscard]] const column& at(std::size_t place) const { return columns_[place]; }

 private:
  std::size_t rows_ = 0;
  std::vector<column> columns_;
  std::vector<std::uint64_t> values_;  ///< Space for one value per column and row. The memory is reused.
};

/// The rows of a chunk as columns, for readers that do not need structs. The row type must not have texts.
template <class Row>
class row_values : public decoded_columns {
 public:
  /// Returns the values of `member`, which must have a column. The result is valid until the next chunk is read into
  /// this object.
  template <class Class, class Member>
  [[nodiscard]] member_values<Member> of(Member Class::*member) const {
    const column& found = at(get_place(member));
    return {found.varies ? found.values : &found.alike, found.varies};
  }

 private:
  template <class Class, class Member>
  [[nodiscard]] static std::size_t get_place(Member Class::*member) {
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
};

}  // namespace sluice::trace
