#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/analysis/span_groups.hpp"
#include "core/analysis/time_range.hpp"
#include "core/analysis/whole.hpp"
#include "core/trace/reader.hpp"

/// Which chunks a question about a part of a recording reads. Private to core/analysis.
namespace sluice::analysis {

/// Immutable; may be used from many threads at once.
class chunk_finder {
 public:
  /// `reaches` are of chunks of `of`. O(reaches).
  chunk_finder(std::span<const chunk_reach> reaches, const trace::snapshot& of);

  /// Places in `reaches`, in order: of chunks with something in `run`, and of those of kinds that matter everywhere. O(reaches / 64 + what
  /// it finds) as long as chunks that lie near each other in the file do so in time.
  [[nodiscard]] std::vector<std::size_t> in(time_range run, bool samples_told) const;

 private:
  struct far_place {
    std::size_t place = 0;
    trace::row_type type{};
  };
  span_groups reaches_;
  std::vector<far_place> everywhere_;  ///< Those of kinds that may matter everywhere.
};

}  // namespace sluice::analysis
