#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "core/query/results/long_result.hpp"
#include "core/query/results/query_operator.hpp"

/// Runs the operator of a query over the sections of a recording. Private to core/query.
namespace sluice::query {

/// Computes a result in steps. Each step adds the index of a few sections to the query's operator, so that memory does
/// not grow with the query's range, or does some of the work that needs no sections.
class operator_run final : public any_long_result {
 public:
  /// Plans what to read, which may read rows; `work` returns the errors. `scope`: the data that the index of a section
  /// must hold. `source` must have sections, unless the operator needs no index. Objects that `source` refers to must
  /// outlive the run.
  operator_run(std::unique_ptr<any_operator> operation, index::section_scope scope, const sources& source);

  /// True if one step suffices.
  [[nodiscard]] bool is_short() const {
    return failure_ || (parts_.size() <= 1 && operation_->remaining_work().total == 0);
  }

  [[nodiscard]] result<bool> work(deadline_type deadline) override;
  [[nodiscard]] float progress() const override;
  [[nodiscard]] result<any_value> any_so_far(bool& provisional) override;

 private:
  /// What one call of `any_operator::add` gets.
  struct part {
    std::size_t first = 0;  ///< The first section.
    std::size_t last = 0;
    time_range range;
    bool kept = false;  ///< The sections are read through the cache.
  };
  void plan_range(time_range range, reading_plan::direction order);
  [[nodiscard]] result<void> add_next();

  const std::unique_ptr<any_operator> operation_;
  const index::section_scope scope_;
  const sources from_;
  std::optional<error> failure_;  ///< Why there is no plan.
  trace::process_id process_{};
  std::vector<part> parts_;
  std::size_t next_ = 0;
  std::shared_ptr<const index::event_store> only_;  ///< The index of the only part, once it was added.
};

}  // namespace sluice::query
