#pragma once

#include <string_view>

#include "core/query/sql/columns.hpp"

/// What the tables and columns of columns.hpp mean, in words. Private to core/query.
namespace sluice::query {

struct column_words {
  std::string_view about;
  text_role role = text_role::plain;
};

/// Of a column, or, with an empty `column`, of the table. Empty words where nobody has written any: a test fails then.
[[nodiscard]] column_words words_about(std::string_view table, std::string_view column);

}  // namespace sluice::query
