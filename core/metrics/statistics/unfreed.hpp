#pragma once

#include <map>
#include <tuple>
#include <vector>

#include "core/index/event_store.hpp"
#include "core/index/memory/memory_use.hpp"
#include "core/metrics/base/member_list.hpp"
#include "core/metrics/base/metrics_scope.hpp"

namespace sluice::metrics {

/// A block that was allocated in the recording and is still live at the end of the recording.
struct unfreed_block {
  trace::block_id block{};
  trace::event_id alloc{};
  trace::string_id name{};
  trace::device_id device{};
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  time_ns born = 0;
};
SLUICE_MEMBERS(unfreed_block, member<&row::block>(), member<&row::alloc>{"event"}, member<&row::name>(),
               member<&row::device>(), member<&row::address>{"address", {}, address}, member<&row::bytes>(),
               member<&row::born>{"born_ns"})

/// Blocks of one layer and kind that a process never freed.
struct unfreed_group {
  trace::process_id process{};
  /// True if the process had ended. If false, the process was still running when the recording ended, and may free the
  /// blocks later.
  bool process_ended = false;
  /// True if some of the blocks were allocated in each quarter of the time from the first allocation to the end of the
  /// range. This pattern indicates a leak. Memory that a program sets up once and holds until it ends does not show
  /// this pattern.
  bool keeps_growing = false;
  trace::layer layer = trace::layer::driver;
  trace::memory_kind kind = trace::memory_kind::unknown;
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  std::vector<unfreed_block> largest;  ///< The largest blocks, largest first; at most `limit`.
  static constexpr std::size_t limit = 16;
};
SLUICE_MEMBERS(unfreed_group, member<&row::process>(), member<&row::process_ended>(), member<&row::keeps_growing>(),
               member<&row::layer>(), member<&row::kind>(), member<&row::count>(), member<&row::bytes>(),
               member<&row::largest>())

/// Decides whether a block was allocated too late to be called a leak. If the block's process was killed, or the end of
/// the process was not recorded, a block allocated in the last half second may not have been freed yet, or its free may
/// be lost. Immutable.
class cut_end {
 public:
  static constexpr time_ns uncertain = 500'000'000;
  /// An imported file has no process ends, so a block counts as too late only if the file is incomplete.
  explicit cut_end(const trace::snapshot& recording)
      : of_(recording), from_(index::recorded_range(recording).end - uncertain) {}

  [[nodiscard]] bool hides(const index::block_record& block) const;

 private:
  const trace::snapshot& of_;
  const time_ns from_;
};

/// True if the block counts as never freed. Its process must own the memory and must have allocated it during the
/// recording, and the block must certainly have been live when the recording ended.
[[nodiscard]] bool is_unfreed(const index::block_record& block, const cut_end& cut);

/// Collects the blocks that were allocated in a range and never freed, section by section. Private to core.
class unfreed_builder {
 public:
  explicit unfreed_builder(const metrics_scope& scope) : scope_(scope) {}  ///< `scope` must outlive this object.

  /// If `run`, the time range that `use` covers, is the last run, adds the blocks that were never freed. O(blocks).
  void add(const index::memory_use& use, time_range run);
  /// Returns the groups, most bytes first. Must be called once, after the last `add`.
  [[nodiscard]] std::vector<unfreed_group> take(const trace::tables& tables);

 private:
  struct gathered {
    unfreed_group group;
    std::vector<time_ns> births;  ///< Unsorted.
  };
  const metrics_scope& scope_;
  std::map<std::tuple<trace::process_id, trace::layer, trace::memory_kind>, gathered> groups_;
};

}  // namespace sluice::metrics
