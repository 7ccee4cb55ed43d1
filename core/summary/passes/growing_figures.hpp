#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "core/base/error.hpp"
#include "core/summary/figures/build_stored_figures.hpp"
#include "core/summary/figures/stored_figures.hpp"
#include "core/summary/passes/growing_summary.hpp"

namespace sluice::analysis {

/// The stored figures of a recording that is still being written, built again and again: what is new costs time, what was
/// added before does not. Sections are added for good once they are settled in the `growing_summary`, and ended two steps
/// ago: whether memory is used again, and what it is for, shows within a step or two. Without steps, that is a tenth of the
/// recording, at most ten seconds. Use from one thread at a time.
class growing_figures {
 public:
  explicit growing_figures(const stored_figures_options& options = {});
  ~growing_figures();
  growing_figures(const growing_figures&) = delete;
  growing_figures& operator=(const growing_figures&) = delete;

  /// Builds the figures of `made`, an outcome of the same `growing_summary` as the ones before, or of another. Begins anew
  /// if that has, and if steps, ranks, shared memory, or which devices run kernels came out otherwise than they seemed.
  /// Rows that came later than their section was added are missing; for these it begins anew when that takes a tenth of
  /// the time at most. After an error, the next call begins anew. Errors: those of `build_stored_figures`.
  /// O(new events + those of two steps + sections with a peak + checked copies).
  [[nodiscard]] result<stored_figures> build(const growing_summary::outcome& made,
                                             const std::function<bool()>& goes_on = {});
  /// How many sections have been added for good.
  [[nodiscard]] std::size_t added() const;

 private:
  struct state;
  const stored_figures_options options_;
  std::unique_ptr<state> state_;  ///< Null: the next call begins anew.
};

}  // namespace sluice::analysis
