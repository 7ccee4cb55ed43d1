#pragma once

#include "core/metrics/findings/transfers/copy_lines.hpp"

/// The copies in a range, grouped by line and by size.
namespace sluice::query {

/// Requests the copies that start in `range`. Reads all copies and the calls that requested them.
struct transfers_query {
  time_range range;
  friend bool operator==(const transfers_query&, const transfers_query&) = default;
  using result_type = metrics::copy_table;
};

}  // namespace sluice::query
