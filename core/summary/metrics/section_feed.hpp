#pragma once

#include <cstddef>
#include <functional>

#include "core/base/error.hpp"
#include "core/base/threads/thread_pool.hpp"
#include "core/summary/metrics/build_stored_metrics.hpp"
#include "core/summary/metrics/stored_metrics_builder.hpp"
#include "core/summary/sections/section_reader.hpp"

namespace sluice::summary {

/// Passes sections to a `stored_metrics_builder` in order of time, while other threads read the next sections.
/// `build_stored_metrics` and `growing_metrics` use this class. It must be used from one thread only.
class section_feed {
 public:
  /// `reader` and `goes_on` must outlive this object.
  section_feed(const section_reader& reader, const stored_metrics_options& options,
               const std::function<bool()>& goes_on);

  /// Adds the sections [first, behind) to `to`. For `also` and errors, see `build_stored_metrics`.
  [[nodiscard]] result<void> add(stored_metrics_builder& to, std::size_t first, std::size_t behind,
                                 const run_visitor& also = {});
  /// Returns the greatest number up to `behind` such that `add` reads the sections from `first` to just before that
  /// number into the same event stores as if all sections followed.
  [[nodiscard]] std::size_t end_of_runs(std::size_t first, std::size_t behind) const;
  /// Calls `at.revisit` with the sections that contain a time from `at.moments()`. Each rank has its own peak, so there
  /// may be many such sections.
  [[nodiscard]] result<void> revisit(stored_metrics_builder& at);

 private:
  /// Returns the last section that is read into the same event store as section `first`.
  [[nodiscard]] std::size_t compute_last(std::size_t first, std::size_t behind) const;

  const section_reader& from_;
  const stored_metrics_options options_;
  const std::function<bool()>& goes_on_;
  std::size_t ahead_;  ///< Number of event stores that are read ahead while the metrics of another are computed.
  /// The first threads read event stores and compute what does not depend on other event stores. The remaining threads
  /// do the work that must happen in order; without them, the calling thread does it.
  thread_pool threads_;
};

}  // namespace sluice::summary
