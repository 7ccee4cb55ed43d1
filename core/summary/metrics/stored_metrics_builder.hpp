#pragma once

#include <map>
#include <span>
#include <vector>

#include "core/index/tensor_facts.hpp"
#include "core/metrics/metrics_builder.hpp"
#include "core/summary/stored/stored_metrics.hpp"

namespace sluice::summary {

/// Builds the stored metrics of a recording section by section. Only `find` is thread-safe. Copies are independent.
class stored_metrics_builder {
 public:
  /// Builds the metrics of the whole recording of `scope`, which has the steps `steps`. All arguments must outlive this
  /// object and its copies.
  stored_metrics_builder(const metrics::metrics_scope& scope, const index::step_facts& steps,
                         const metrics::unsectioned_facts& unsectioned)
      : scope_(scope), metrics_(scope, steps, unsectioned) {
    made_.blocks.resize(trace::layer_count);
  }

  /// See `metrics_builder::go_on`.
  [[nodiscard]] bool go_on(const index::step_facts& steps, const metrics::unsectioned_facts& unsectioned,
                           time_ns until) {
    return metrics_.go_on(steps, unsectioned, until);
  }

  /// The following functions must be called in this order. For every section, in order of time: `add_found` with the
  /// result of `find`, and `add_piece` for each number below `pieces` (see `metrics_builder`). Then `revisit` for the
  /// sections that contain a time from `moments`. Finally `take`, once.
  [[nodiscard]] metrics::run_findings find(const index::event_store& store, time_range run) const {
    return metrics_.find(store, run);
  }
  void add_found(const metrics::run_findings& found, const index::event_store& store, time_range run) {
    metrics_.add_found(found, store, run);
  }
  void add_piece(std::size_t piece, const index::event_store& store, time_range run);
  static constexpr std::size_t pieces = metrics::metrics_builder::pieces + 1;
  [[nodiscard]] std::vector<time_ns> moments();
  void revisit(const index::event_store& store, time_range run);
  [[nodiscard]] stored_metrics take();

 private:
  void add_memory(const index::memory_key& key, std::span<const index::block_record* const> blocks, time_range part);
  void list(const index::event_store& store, time_range run);
  void cut(std::size_t layer);

  const metrics::metrics_scope& scope_;
  metrics::metrics_builder metrics_;
  struct memory {
    metrics::stack_use allocated;
    metrics::held_bytes highest;
    metrics::stack_use at_peak;
  };
  metrics::memory_lister memory_lister_;
  std::map<index::memory_key, memory> memories_;
  std::array<std::vector<metrics::listed_block>, trace::layer_count> largest_;
  std::array<std::uint64_t, trace::layer_count> min_listed_{};  ///< Smaller blocks of a layer are not listed.
  stored_metrics made_;
};

}  // namespace sluice::summary
