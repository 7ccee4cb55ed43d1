#pragma once

#include <chrono>
#include <memory>

#include "core/query/results/result_functions.hpp"
#include "core/query/types/any_value.hpp"

namespace sluice::query {

/// A result that takes long to compute, such as that of a search. It is computed in steps, so that other queries run in
/// between, and a partial result is available after each step. Private to core/query. Not thread-safe.
class any_long_result {
 public:
  using deadline_type = std::chrono::steady_clock::time_point;

  any_long_result() = default;
  virtual ~any_long_result() = default;
  any_long_result(const any_long_result&) = delete;
  any_long_result& operator=(const any_long_result&) = delete;

  /// Runs the next step, and further steps until `deadline`. Returns true after the last step. Errors: cancelled, soon
  /// after `sources::cancelled` is set; those of reading.
  [[nodiscard]] virtual result<bool> work(deadline_type deadline) = 0;
  /// Returns the share of the steps that are done, 0..1.
  [[nodiscard]] virtual float progress() const = 0;
  /// Returns the result of the steps so far. Sets `provisional` if some native functions in the result have no names
  /// yet.
  [[nodiscard]] virtual result<any_value> any_so_far(bool& provisional) = 0;
};

using unique_result = std::unique_ptr<any_long_result>;

/// Computes the result from the list of all blocks, which is built first if necessary. Reads only the columns that the
/// query needs, and all columns only of the blocks that are returned: O(blocks) integers. `without` computes the result
/// if the list cannot be built. `source.stored->blocks` must be set. Objects that `source` refers to must outlive the
/// returned object.
[[nodiscard]] unique_result start_from_list(const blocks_query& query, const sources& source, unique_result without);

}  // namespace sluice::query
