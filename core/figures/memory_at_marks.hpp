#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/index/memory/memory_use.hpp"
#include "core/timeline/time_range.hpp"
#include "core/trace/file/reader.hpp"

/// What memory was like at each mark that a program made (its steps, usually): what a program's own figures are compared with.
namespace sluice::analysis {

class index;

/// Of one layer and kind on one device, in the mark's process.
struct memory_at_mark {
  memory_key of;
  std::uint64_t bytes = 0;
  std::uint64_t blocks = 0;
  std::uint64_t segment_bytes = 0;  ///< Of the blocks of lower layers, live then, that ever held one of these.
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

/// Counters and pools: what was last said of them, at the mark or before it.
struct program_mark {
  time_ns time = 0;
  trace::process_id process{};
  trace::thread_id thread{};
  trace::string_id name{};
  std::int64_t step = -1;
  std::vector<memory_at_mark> memory;  ///< By device, layer, kind; only what is there.
  std::vector<counter_at_mark> counters;
  std::vector<pool_at_mark> pools;
};

inline constexpr std::size_t mark_limit = 1000;

/// The marks in a range in order of time, at most `mark_limit`, gathered from indexes of parts of the recording. A block counts from its
/// birth to the request of its free. Costs nothing if there are no marks.
class mark_gatherer {
 public:
  /// Reads the marks, and what was said of counters and pools before the last of them. O(rows of these * log marks).
  mark_gatherer(const trace::snapshot& from, time_range range);

  /// What `from` tells of its run. O(blocks * log blocks).
  void add(const index& from, time_range run);
  /// Of all that was added, once.
  [[nodiscard]] std::vector<program_mark> take();

 private:
  struct total {
    std::int64_t bytes = 0;
    std::int64_t blocks = 0;
    std::int64_t segment_bytes = 0;
  };
  /// Of a block that others lie in.
  struct segment {
    trace::process_id process{};
    time_ns born = 0;
    time_ns died = trace::unknown_time;
    std::uint64_t bytes = 0;
  };
  void add_totals(const memory_use& memory, time_range run);
  void add_segments(const index& from, time_range run);
  void keep(const block_record& segment);
  void put_segments();

  std::vector<program_mark> marks_;
  std::vector<std::map<memory_key, total>> totals_;  ///< At each mark, of its process.
  std::set<std::pair<memory_key, trace::block_id>> parents_;
  std::unordered_map<std::uint64_t, segment> segments_;  ///< By the block's id.
};

}  // namespace sluice::analysis
