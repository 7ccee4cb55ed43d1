#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/metrics/report/report.hpp"
#include "core/metrics/statistics/range_statistics.hpp"
#include "core/query/types/memory_groups.hpp"
#include "core/query/types/result_types.hpp"

/// The queries of views, as plain values. Each names the type of its result. Queries of single panels are in the other
/// files of this folder.
namespace sluice::query {

/// Requests the rows of the timeline.
struct tracks_query {
  friend bool operator==(const tracks_query&, const tracks_query&) = default;
  using result_type = track_list;
};

/// Requests the slices of one track, which are its events drawn as bars.
struct slices_query {
  std::uint64_t track = 0;
  time_range range;
  std::uint32_t width = 0;  ///< In pixels; slices narrower than one pixel are merged.
  friend bool operator==(const slices_query&, const slices_query&) = default;
  using result_type = slice_list;
};

/// Requests the curves of a memory, pool, bandwidth or counter track.
struct series_query {
  std::uint64_t track = 0;
  time_range range;
  std::uint32_t width = 0;
  bool by_category = false;  ///< Split each layer that has tensors into one band per category.
  friend bool operator==(const series_query&, const series_query&) = default;
  using result_type = series;
};

/// Requests the blocks that were live at some time in `range` and that pass all filters.
struct blocks_query {
  time_range range;
  std::optional<trace::layer> layer;
  bool only_unfreed = false;
  block_column sort = block_column::bytes;
  bool descending = true;
  /// A text that the block's name, its address in hex, a line of its call stack (file or function) or its module must
  /// contain. Case-insensitive.
  std::string filter;
  std::size_t rows = block_table::row_limit;  ///< The most rows to return. The result's count and sum include the other
                                              ///< rows, too.
  /// The attribution in `block_table::asked_by`; none: the one that divides these rows most evenly.
  std::optional<symbols::attribution> by{};
  std::optional<index::category> category{};
  std::uint64_t min_bytes = 0;  ///< Only blocks of at least this size.
  bool only_unused = false;  ///< Only blocks that no launch or copy used. If uses were not recorded, no block passes.
  std::optional<trace::device_id> device{};  ///< None: all devices. `device_id::none`: blocks without a device.
  std::optional<trace::memory_kind> kind{};
  trace::process_id process{};           ///< None: all processes.
  std::optional<block_groups> groups{};  ///< Only blocks of these groups of a `memory_groups` result.
  /// Also return the first and last use of each block. The engine must then read a recording with sections once more.
  bool with_uses = false;
  /// True if the uses of blocks are needed to compute the result.
  [[nodiscard]] bool needs_uses() const {
    return with_uses || only_unused || sort == block_column::first_use || sort == block_column::last_use ||
           sort == block_column::idle;
  }
  friend bool operator==(const blocks_query&, const blocks_query&) = default;
  using result_type = block_table;
};

/// Requests the metrics of a range. The report computes its metrics with the same function.
struct statistics_query {
  time_range range;
  friend bool operator==(const statistics_query&, const statistics_query&) = default;
  using result_type = metrics::range_statistics;
};

/// Requests the report on the whole trace.
struct report_query {
  friend bool operator==(const report_query&, const report_query&) = default;
  using result_type = metrics::report;
};

/// Selects the given event, or the nearest event before or after it with the same name.
enum class same_name : std::uint8_t { itself, previous, next };

/// Requests the details of an event or a block, as text.
struct details_query {
  trace::event_id event{};
  trace::block_id block{};              ///< If set, requests this block instead of an event.
  same_name which = same_name::itself;  ///< For copies, the same direction counts as the same name.
  friend bool operator==(const details_query&, const details_query&) = default;
  using result_type = event_details;
};

/// Selects the first level of a tree of stacks: callers, or groups of stacks with the same attribution.
struct stack_grouping {
  bool grouped = false;
  std::optional<symbols::attribution> by{};  ///< None: the attribution that splits the bytes most evenly
                                             ///< (`metrics::most_even`).
  friend bool operator==(const stack_grouping&, const stack_grouping&) = default;
};

/// Requests the call stacks that allocated memory or copied it, or in which host threads spent time.
struct stacks_query {
  time_range range;
  stack_measure measure = stack_measure::peak;
  time_ns at = 0;                       ///< The time for the measure `live`.
  std::optional<trace::layer> layer{};  ///< None: the engine chooses the layer; `stack_view::choice` is its choice.
  std::optional<trace::device_id> device{};
  std::optional<trace::memory_kind> kind{};
  std::optional<trace::direction> direction{};  ///< For the measure `transferred`.
  std::optional<trace::thread_id> thread{};     ///< For the measure `host`.
  std::optional<trace::host_state> state{};     ///< For the measure `host`.
  metrics::stack_weight weight = metrics::stack_weight::bytes;
  metrics::stack_order order = metrics::stack_order::from_caller;
  bool fold = false;  ///< Hide the lines of libraries, except the innermost line of each stack.
  stack_grouping grouping{};
  friend bool operator==(const stacks_query&, const stacks_query&) = default;
  using result_type = stack_view;
};

/// Requests the messages of the recorder, such as warnings.
struct messages_query {
  friend bool operator==(const messages_query&, const messages_query&) = default;
  using result_type = std::vector<message>;
};

/// Requests the events whose name contains a text, ignoring case: kernels, calls, ranges, markers, graphs, files,
/// allocations. Reads the file without an index. O(events), but reads only a few bytes of the name column for most
/// events.
struct search_query {
  std::string text;  ///< If empty, the result is empty.
  friend bool operator==(const search_query&, const search_query&) = default;
  using result_type = search_results;
};

/// Requests the memory that a framework's allocator would have reserved under other policies (`replay::policies_for`).
/// Reads all memory events of the recording, then replays them for one policy after another. O(policies * requests *
/// log live blocks).
struct what_if_query {
  friend bool operator==(const what_if_query&, const what_if_query&) = default;
  using result_type = what_if_curves;
};

}  // namespace sluice::query
