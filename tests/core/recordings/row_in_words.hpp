#pragma once

#include <string>
#include <type_traits>

#include "core/trace/columns/column_values.hpp"
#include "core/trace/model/schema.hpp"

namespace sluice::testing {

/// All values of a row as text, for comparison with other rows.
template <class Row>
std::string in_words(const Row& row) {
  std::string words;
  const auto put = [&](const auto& field) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(row.*field.member)>, std::string>)
      words += row.*field.member;
    else
      words += std::to_string(trace::to_bits(row.*field.member));
    words += '|';
  };
  trace::schema<Row>::apply([&](const auto&... fields) { (put(fields), ...); });
  return words;
}

}  // namespace sluice::testing
