#pragma once

#include <chrono>

#include "core/query/answers/answer_functions.hpp"
#include "core/query/engine/long_answer.hpp"

/// Samples the holes of a file with sections, a moment at a time. Private to core/query.
namespace sluice::query {

class hole_finder final : public long_answer<hole_curve> {
 public:
  /// `from.stored->sections` must be set. What `from` refers to must outlive this.
  hole_finder(const holes_question& question, const sources& from);

  [[nodiscard]] result<bool> work(std::chrono::steady_clock::time_point deadline,
                                  const std::atomic<bool>& cancelled) override;
  [[nodiscard]] float progress() const override;
  [[nodiscard]] result<hole_curve> so_far(bool& /*provisional*/) override { return made_; }

 private:
  const holes_question question_;
  const sources from_;
  hole_curve made_;
};

}  // namespace sluice::query
