#pragma once

#include <map>
#include <tuple>
#include <vector>

#include "core/figures/figures_scope.hpp"
#include "core/figures/report.hpp"
#include "core/index/index.hpp"
#include "core/index/memory/memory_use.hpp"

namespace sluice::analysis {

/// Decides whether a block was born too late to be called a leak. If its process was killed, or that process's end is
/// not recorded, a block born in the last half second may just not be freed yet, or its free may be lost. Immutable.
class cut_end {
 public:
  static constexpr time_ns uncertain = 500'000'000;
  /// An import stores no ends of processes: it counts as cut off only if the file is incomplete.
  explicit cut_end(const trace::snapshot& of) : of_(of), from_(time_range_of(of).end - uncertain) {}

  [[nodiscard]] bool hides(const block_record& block) const;

 private:
  const trace::snapshot& of_;
  const time_ns from_;
};

/// True if the block counts as never freed: its process owns the memory and allocated it during the recording, and it
/// was certainly live when the recording ended.
[[nodiscard]] bool is_unfreed(const block_record& block, const cut_end& cut);

/// Collects the blocks born in a range and never freed, from section indexes. Private to core.
class unfreed_builder {
 public:
  explicit unfreed_builder(const figures_scope& scope) : scope_(scope) {}  ///< It must outlive this.

  /// Adds the never-freed blocks if `run`, the time range that `from` covers, is the last one. O(blocks).
  void add(const memory_use& from, time_range run);
  /// Returns the groups, most bytes first. Call once, after the last `add`.
  [[nodiscard]] std::vector<unfreed_group> take(const trace::tables& tables);

 private:
  struct gathered {
    unfreed_group group;
    std::vector<time_ns> births;  ///< Unsorted.
  };
  const figures_scope& scope_;
  std::map<std::tuple<trace::process_id, trace::layer, trace::memory_kind>, gathered> groups_;
};

}  // namespace sluice::analysis
