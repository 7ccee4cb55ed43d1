#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/figures/figures_scope.hpp"
#include "core/index/memory/memory_use.hpp"
#include "core/timeline/time_range.hpp"

/// Memory in use at each mark of the program (usually its steps), for comparison with the program's own figures.
namespace sluice::analysis {

class index;

/// Memory of one layer and kind on one device, in the process of the mark.
struct memory_at_mark {
  memory_key of;
  std::uint64_t bytes = 0;
  std::uint64_t blocks = 0;
  std::uint64_t segment_bytes = 0;  ///< Total size of the live segments that ever held a block of this memory.
};

struct counter_at_mark {
  trace::counter_id counter{};
  double value = 0;
};

struct pool_at_mark {
  trace::pool_id pool{};
  std::uint64_t reserved = 0;
  std::uint64_t used = 0;
};

/// One mark. Counters and pools have their last values at or before the mark.
struct program_mark {
  time_ns time = 0;
  trace::process_id process{};
  trace::thread_id thread{};
  trace::string_id name{};
  std::int64_t step = -1;
  std::vector<memory_at_mark> memory;  ///< Memory in use, by device, layer and kind.
  std::vector<counter_at_mark> counters;
  std::vector<pool_at_mark> pools;
};

inline constexpr std::size_t mark_limit = 1000;

/// Collects the marks in a range in order of time, at most `mark_limit`, with the memory in use at each, from indexes
/// of sections. A block counts from its birth to the request of its free. Costs nothing if there are no marks.
class marks_builder {
 public:
  explicit marks_builder(const figures_scope& scope) : scope_(scope) {}  ///< It must outlive this.

  /// Adds the marks in `run`, the time range that `from` covers. Reads the rows of markers, counters and pools there.
  /// O(rows + blocks * log blocks); O(chunks) if the recording has no marks.
  void add(const index& from, time_range run);
  /// False if the recording has got its first marks since runs were added without them: then begin anew.
  [[nodiscard]] bool goes_on() const;
  /// Returns the marks. Call once, after the last `add`.
  [[nodiscard]] std::vector<program_mark> take();

 private:
  struct total {
    std::int64_t bytes = 0;
    std::int64_t blocks = 0;
    std::int64_t segment_bytes = 0;
  };
  /// A block that contains blocks of a higher layer.
  struct segment {
    trace::process_id process{};
    time_ns born = 0;
    time_ns died = trace::unknown_time;
    std::uint64_t bytes = 0;
  };
  /// Adds the marks in `run`, with the counters and pools at each.
  void add_marks(time_range run);
  /// Computes the memory in use at the marks from number `first` on. The index has all blocks live at these.
  void add_totals(const memory_use& memory, std::size_t first);
  void add_segments(const memory_use& memory, time_range run);
  void keep(const block_record& segment);
  void put_segments();

  const figures_scope& scope_;
  bool any_ = false;       ///< The recording has marks.
  bool left_out_ = false;  ///< Runs were added while there were no marks at all.
  std::vector<program_mark> marks_;
  time_ns read_until_ = all_time.begin;                         ///< Of counters and pools.
  std::map<trace::counter_id, trace::counter_event> counters_;  ///< The latest row of each.
  std::map<trace::pool_id, trace::pool_event> pools_;
  std::vector<std::map<memory_key, total>> totals_;  ///< For each mark: the memory in use by the mark's process.
  std::set<std::pair<memory_key, trace::block_id>> parents_;
  std::unordered_set<std::uint64_t> ids_;                ///< Of the blocks among `parents_`.
  std::unordered_map<std::uint64_t, segment> segments_;  ///< Segments by block id.
};

}  // namespace sluice::analysis
