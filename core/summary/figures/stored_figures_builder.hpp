#pragma once

#include <map>
#include <vector>

#include "core/figures/figures_builder.hpp"
#include "core/index/tensor_facts.hpp"
#include "core/summary/figures/stored_figures.hpp"

namespace sluice::analysis {

/// Gathers the digest of a recording, as figures_gatherer does its figures. Not thread-safe.
class digest_gatherer {
 public:
  /// Of the recording `of`, whose steps are `steps`. All outlive this.
  digest_gatherer(const trace::snapshot& of, const step_facts& steps, const beside_parts& beside);

  /// See figures_gatherer.
  void add(const index& from, time_range run);
  [[nodiscard]] std::vector<time_ns> moments();
  void look(const index& from, time_range run);
  [[nodiscard]] digest take();

 private:
  void add_memory(const memory_use& of, const memory_key& key, time_range part);
  void list(const index& from, time_range run);
  void cut();

  const trace::snapshot& of_;
  const step_facts& steps_;
  figures_gatherer figures_;
  struct memory {
    stack_use allocated;
    held_bytes highest;
    stack_use at_peak;
  };
  memory_lister standings_;
  std::map<memory_key, memory> memories_;
  bool any_ = false;  ///< A part was added.
  digest made_;
};

}  // namespace sluice::analysis
