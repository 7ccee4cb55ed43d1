#pragma once

#include <map>
#include <tuple>
#include <vector>

#include "core/figures/report.hpp"
#include "core/index/index.hpp"
#include "core/index/memory/memory_use.hpp"

namespace sluice::analysis {

/// What is too late to be called a leak. A recording was cut for a process that was killed or did not end in it: blocks born in the last
/// half second may have been about to be freed, or their frees may have been lost. Immutable. Other processes have no such blocks.
class cut_end {
 public:
  static constexpr time_ns uncertain = 500'000'000;
  /// Of an import, which tells no ends, only a file that is not whole was cut.
  explicit cut_end(const trace::snapshot& of) : of_(of), from_(time_range_of(of).end - uncertain) {}

  [[nodiscard]] bool hides(const block_record& block) const;

 private:
  const trace::snapshot& of_;
  const time_ns from_;
};

/// Whether the block counts as never freed: allocated in the recording, by who owns its bytes, and still there where its recording ends for
/// sure.
[[nodiscard]] bool is_unfreed(const block_record& block, const cut_end& cut);

/// The blocks born in a range that nobody freed: gathered from indexes of parts of the recording. Private to core.
class unfreed_gatherer {
 public:
  /// Of the recording `of`, which outlives this.
  unfreed_gatherer(const trace::snapshot& of, time_range range) : cut_(of), range_(range) {}

  /// What `from` tells of the blocks born in `run`. O(blocks).
  void add(const memory_use& from, time_range run);
  /// Most bytes first; once.
  [[nodiscard]] std::vector<unfreed_group> take(const trace::tables& tables);

 private:
  struct gathered {
    unfreed_group group;
    std::vector<time_ns> births;  ///< In any order.
  };
  const cut_end cut_;
  const time_range range_;
  std::map<std::tuple<trace::process_id, trace::layer, trace::memory_kind>, gathered> groups_;
};

}  // namespace sluice::analysis
