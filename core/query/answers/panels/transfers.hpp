#pragma once

#include "core/figures/waste/copy_lines.hpp"

/// The copies in a range, by line and by size.
namespace sluice::query {

/// Asks for the copies that begin in `range`. Reads all copies and the calls that requested them.
struct transfers_question {
  analysis::time_range range;
  friend bool operator==(const transfers_question&, const transfers_question&) = default;
  using answer_type = analysis::copy_table;
};

}  // namespace sluice::query
