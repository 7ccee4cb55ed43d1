#pragma once

#include <map>
#include <span>
#include <vector>

#include "core/figures/figures_builder.hpp"
#include "core/index/tensor_facts.hpp"
#include "core/summary/figures/stored_figures.hpp"

namespace sluice::analysis {

/// Builds the stored figures of a recording from indexes of its sections, one after another. Not thread-safe, but for
/// `find`. A copy goes on alone.
class stored_figures_builder {
 public:
  /// For all of the recording of `scope`, whose steps are `steps`. All arguments must outlive this and its copies.
  stored_figures_builder(const figures_scope& scope, const step_facts& steps, const unsectioned_facts& unsectioned)
      : scope_(scope), figures_(scope, steps, unsectioned) {
    made_.blocks.resize(trace::layer_count);
  }

  /// See `figures_builder::go_on`.
  [[nodiscard]] bool go_on(const step_facts& steps, const unsectioned_facts& unsectioned, time_ns until) {
    return figures_.go_on(steps, unsectioned, until);
  }

  /// For every section, in order of time, call `add_found` with what `find` found and `add_piece` with each piece below `pieces`
  /// (see `figures_builder`). Then `look` for the sections with a time from `moments`, then `take` once.
  [[nodiscard]] run_findings find(const index& from, time_range run) const { return figures_.find(from, run); }
  void add_found(const run_findings& found, const index& from, time_range run) { figures_.add_found(found, from, run); }
  void add_piece(std::size_t piece, const index& from, time_range run);
  static constexpr std::size_t pieces = figures_builder::pieces + 1;
  [[nodiscard]] std::vector<time_ns> moments();
  void look(const index& from, time_range run);
  [[nodiscard]] stored_figures take();

 private:
  void add_memory(const memory_key& key, std::span<const block_record* const> blocks, time_range part);
  void list(const index& from, time_range run);
  void cut(std::size_t layer);

  const figures_scope& scope_;
  figures_builder figures_;
  struct memory {
    stack_use allocated;
    held_bytes highest;
    stack_use at_peak;
  };
  memory_lister memory_lister_;
  std::map<memory_key, memory> memories_;
  std::array<std::vector<listed_block>, trace::layer_count> largest_;
  std::array<std::uint64_t, trace::layer_count> least_listed_{};  ///< Smaller blocks of the layer are not listed.
  stored_figures made_;
};

}  // namespace sluice::analysis
