#pragma once

#include <string_view>

#include "core/query/sql/columns.hpp"

/// Descriptions of the tables and columns of columns.hpp. Private to core/query.
namespace sluice::query {

struct column_words {
  std::string_view about;
  text_role role = text_role::plain;
};

/// The description of a column, or of the table if `column` is empty. Empty if missing, which fails a test.
[[nodiscard]] column_words words_about(std::string_view table, std::string_view column);

}  // namespace sluice::query
