#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/base/time/time_range.hpp"
#include "core/index/memory/memory_use.hpp"
#include "core/metrics/base/member_list.hpp"
#include "core/metrics/base/metrics_scope.hpp"

/// Computes the memory in use at each of the program's marks (usually its steps), for comparison with numbers that the
/// program itself reports.
namespace sluice::index {
class event_store;
}

namespace sluice::metrics {

/// The memory of one layer and kind on one device that the mark's process has in use.
struct memory_at_mark {
  index::memory_key memory;
  std::uint64_t bytes = 0;
  std::uint64_t blocks = 0;
  /// Total size of the live segments that contain, or once contained, a block of this memory.
  std::uint64_t segment_bytes = 0;
};
SLUICE_MEMBERS(memory_at_mark, member<&row::memory>{"of", {}, inlined}, member<&row::bytes>(), member<&row::blocks>(),
               member<&row::segment_bytes>())

struct counter_at_mark {
  trace::counter_id counter{};
  double value = 0;
};

struct pool_at_mark {
  trace::pool_id pool{};
  std::uint64_t reserved = 0;
  std::uint64_t used = 0;
};
SLUICE_MEMBERS(pool_at_mark, member<&row::pool>(), member<&row::reserved>{"reserved_bytes"},
               member<&row::used>{"used_bytes"})

/// One mark. `counters` and `pools` have the latest values at or before the mark.
struct program_mark {
  time_ns time = 0;
  trace::process_id process{};
  trace::thread_id thread{};
  trace::string_id name{};
  std::int64_t step = -1;
  std::vector<memory_at_mark> memory;  ///< Memory in use, sorted by device, layer and kind.
  std::vector<counter_at_mark> counters;
  std::vector<pool_at_mark> pools;
};

inline constexpr std::size_t mark_limit = 1000;

/// Collects the first `mark_limit` marks in a range, with the memory in use at each mark, section by section in order
/// of time. A block counts from its allocation until its free is requested. The builder takes almost no time if there
/// are no marks.
class marks_builder {
 public:
  explicit marks_builder(const metrics_scope& scope) : scope_(scope) {}  ///< `scope` must outlive this object.

  /// Adds the marks in `run`, the time range that `store` covers. Reads the rows of markers, counters and pools in
  /// `run`. O(rows + blocks * log blocks); O(chunks) if the recording has no marks.
  void add(const index::event_store& store, time_range run);
  /// False if some runs were added before the recording had any marks, and the recording has marks now. The caller must
  /// then start from scratch.
  [[nodiscard]] bool goes_on() const;
  /// Returns the marks. Must be called once, after the last `add`.
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
  /// Adds the marks in `run`, with the counters and pools at each mark.
  void add_marks(time_range run);
  /// Computes the memory in use at each mark from index `first` on. `memory` must contain all blocks that are live at
  /// these marks.
  void add_totals(const index::memory_use& memory, std::size_t first);
  void add_segments(const index::memory_use& memory, time_range run);
  void keep(const index::block_record& segment);
  void put_segments();

  const metrics_scope& scope_;
  bool any_ = false;       ///< True if the recording has marks.
  bool left_out_ = false;  ///< True if runs were added while the recording had no marks.
  std::vector<program_mark> marks_;
  /// The time up to which counters and pools have been read.
  time_ns read_until_ = all_time.begin;
  std::map<trace::counter_id, trace::counter_event> counters_;  ///< The latest row of each counter.
  std::map<trace::pool_id, trace::pool_event> pools_;
  /// For each mark, the memory that the mark's process has in use.
  std::vector<std::map<index::memory_key, total>> totals_;
  std::set<std::pair<index::memory_key, trace::block_id>> parents_;
  std::unordered_set<std::uint64_t> ids_;                ///< Ids of the blocks in `parents_`.
  std::unordered_map<std::uint64_t, segment> segments_;  ///< Indexed by block id.
};

}  // namespace sluice::metrics
