#pragma once

#include <chrono>

#include "core/query/engine/long_result.hpp"
#include "core/query/results/result_functions.hpp"

/// Answers a `holes_query` from a file with sections. Each step takes one sample. Private to core/query.
namespace sluice::query {

class hole_finder final : public long_result<hole_curve> {
 public:
  /// `from.stored->sections` must be set. Objects that `source` refers to must outlive this object.
  hole_finder(const holes_query& query, const sources& source);

  [[nodiscard]] result<bool> work(std::chrono::steady_clock::time_point deadline,
                                  const std::atomic<bool>& cancelled) override;
  [[nodiscard]] float progress() const override;
  [[nodiscard]] result<hole_curve> so_far(bool& /*provisional*/) override { return made_; }

 private:
  const holes_query query_;
  const sources from_;
  hole_curve made_;
};

}  // namespace sluice::query
