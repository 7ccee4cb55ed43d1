#pragma once

#include <string_view>

#include "core/query/sql/columns.hpp"

/// Descriptions of the tables and columns of columns.hpp. Private to core/query.
namespace sluice::query {

struct column_words {
  std::string_view about;
  text_role role = text_role::plain;
};

/// Returns the description of a column, or of the table if `column` is empty. A missing description is empty; a test
/// checks that none is missing.
[[nodiscard]] column_words words_about(std::string_view table, std::string_view column);

}  // namespace sluice::query
