#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/time/time_range.hpp"
#include "core/index/tensors/categories.hpp"
#include "core/metrics/base/listed_block.hpp"
#include "core/metrics/base/stack_tree.hpp"
#include "core/replay/replay.hpp"
#include "core/symbols/attribution.hpp"
#include "core/symbols/frames.hpp"
#include "core/timeline/sampled_bin.hpp"
#include "core/timeline/slice_kind.hpp"
#include "core/trace/model/model.hpp"
#include "core/trace/model/row_type.hpp"

/// The results of queries, as plain values.
namespace sluice::query {

using timeline::slice_kind;

// --- tracks ---------------------------------------------------------------------------------------------------------

enum class track_kind : std::uint8_t { memory, pool, bandwidth, direction, stream, host_thread, counter, steps };

/// A row of the timeline. The id of a track does not change while the trace grows.
struct track {
  std::uint64_t id = 0;
  track_kind kind = track_kind::stream;
  std::string label;   ///< "Stream 7", "Host to device", "python (1234)".
  std::string detail;  ///< The device and the process, for a second line or a tooltip.
  trace::process_id process{};
  trace::device_id device{};
  trace::stream_id stream{};
  trace::thread_id thread{};
  trace::pool_id pool{};
  trace::counter_id counter{};
  trace::direction direction = trace::direction::unknown;
  std::uint16_t depth = 1;  ///< The number of rows of nested slices.
  double maximum = 0;       ///< For memory, pools and counters: an upper bound of the values, known without sampling.
};

/// A span of time in which the recorder lost events.
struct lost_span {
  time_range span;
  std::uint64_t events = 0;
  std::uint64_t memory_events = 0;  ///< How many of `events` are allocations and frees.
};

struct track_list {
  std::vector<track> tracks;    ///< In display order.
  time_range span;              ///< The time span of the whole trace.
  time_range active;            ///< From the first to the last device work or allocation.
  time_range opening;           ///< The part of `active` that the window shows first, such as some steady steps.
  std::vector<lost_span> lost;  ///< Sorted by time. Neighbors are merged, so that there are at most `lost_limit`.
  /// Device work of all processes is complete up to this time; later kernels and copies may be missing.
  time_ns complete_until = trace::unknown_time;  ///< unknown_time if no device work is missing.

  static constexpr std::size_t lost_limit = 256;
};

// --- slices ---------------------------------------------------------------------------------------------------------

struct slice {
  time_ns begin = 0;
  time_ns end = 0;
  std::uint16_t depth = 0;
  slice_kind kind = slice_kind::kernel;
  std::uint32_t count = 1;  ///< The number of events; if above 1, they are in the same pixel.
  float busy = 1;           ///< The share of [begin, end) that the events cover.
  trace::string_id name{};  ///< The name of the event, or of the longest event in the pixel.
  trace::event_id event{};  ///< The event that `name` is from.
  std::uint64_t bytes = 0;
  std::int64_t step = 0;  ///< For slices that are steps: the step's number.
};

struct slice_list {
  time_range range;  ///< The range of the query that was answered. While the view pans, this may be an earlier query.
  std::vector<slice> slices;  ///< Sorted by depth, then by start.
};

// --- series ---------------------------------------------------------------------------------------------------------

/// The values of a curve in one pixel. Stacked bands are drawn with the value `at_peak`.
using bin = timeline::sampled_bin;

enum class band_role : std::uint8_t { used, reserved, untracked, recorder, total, value };

/// One curve of a track.
struct band {
  std::string label;
  band_role role = band_role::value;
  trace::layer layer = trace::layer::driver;
  trace::memory_kind kind = trace::memory_kind::unknown;
  trace::direction direction = trace::direction::unknown;
  index::category category = index::category::none;  ///< The category shown, if `by_category`.
  bool by_category = false;                          ///< The band shows the memory of `category`, which may be none.
  bool stacked = false;   ///< The band is drawn on top of the previous stacked bands. Other bands are separate lines.
  std::vector<bin> bins;  ///< About as many as the query's width, in bytes, bytes/s or the counter's unit.
  /// For a bandwidth: the share of each bin in which at least one copy ran. Empty for other bands.
  std::vector<float> busy;
};

/// A horizontal line with a label: "PCIe 5 x16 peak 63.0 GB/s", "device memory 141 GB".
struct limit_line {
  std::string label;
  double value = 0;
  trace::direction direction = trace::direction::unknown;  ///< Set if the limit applies to one direction only.
};

struct series {
  /// The range that the bins divide evenly. While the view pans, it may be that of an earlier query.
  time_range range;
  std::vector<band> bands;
  std::vector<limit_line> limits;
  double maximum = 0;  ///< The largest value in the whole trace, so that the axis does not change while panning.
};

// --- search ---------------------------------------------------------------------------------------------------------

/// An event whose name contains the searched text.
struct found_event {
  trace::event_id event{};
  time_ns begin = 0;
  time_ns end = 0;  ///< At least `begin`.
  trace::string_id name{};
  trace::row_type kind{};
};

/// All events of one kind and name.
struct found_name {
  trace::string_id name{};
  trace::row_type kind{};
  std::uint64_t count = 0;
  time_ns time = 0;  ///< The sum of the events' durations, in ns.
  found_event first;
  found_event longest;
};

struct search_results {
  std::string text;                 ///< The searched text.
  std::vector<found_name> names;    ///< The most frequent first; at most `name_limit`.
  std::uint64_t name_count = 0;     ///< The number of all names found, including those beyond the limit.
  std::vector<found_event> events;  ///< The earliest first; at most `event_limit`.
  std::uint64_t total = 0;          ///< The number of all events found, including those beyond the limit.
  /// Source lines of recorded call stacks whose file or function contains the text: "train.py:12, make". Matched as in
  /// `blocks_query::filter`. At most `line_limit`. Native functions without a recorded name are not searched.
  std::vector<std::string> lines;

  static constexpr std::size_t line_limit = 100;
  static constexpr std::size_t name_limit = 1'000;
  static constexpr std::size_t event_limit = 10'000;
};

// --- what if --------------------------------------------------------------------------------------------------------

/// The memory that a framework's allocator would have reserved with one setting.
struct replayed_policy {
  std::string policy;  ///< A setting of PYTORCH_CUDA_ALLOC_CONF, or a name from `sluice whatif`.
  replay::replay_metrics metrics;
  /// The most bytes reserved in each of `what_if_curves::parts` equal parts of the time.
  std::vector<std::uint64_t> reserved;
};

/// The allocator of one device in one process.
struct replayed_allocator {
  std::string label;  ///< "GPU 0", followed by the process if there are several processes.
  trace::process_id process{};
  trace::device_id device{};
  std::uint64_t recorded_peak = 0;  ///< The most bytes that were reserved in the recording; 0 if not recorded.
  bool reproduced = false;          ///< With the recorded settings, the model reserves exactly the recorded bytes.
  std::vector<replayed_policy> policies;
};

struct what_if_curves {
  time_range span;                             ///< From the first request to the last.
  std::vector<replayed_allocator> allocators;  ///< Empty if the recording has no requests to a framework's allocator.
  bool too_many = false;  ///< True if nothing was replayed because there are more than `block_limit` blocks.

  static constexpr std::size_t parts = 512;
  static constexpr std::uint64_t block_limit = 2'000'000;
};

// --- tables ---------------------------------------------------------------------------------------------------------

/// A row of the table of blocks.
using block_row = metrics::listed_block;

enum class block_column : std::uint8_t {
  address,
  bytes,
  layer,
  kind,
  born,
  died,
  lifetime,
  name,
  category,
  first_use,
  last_use,
  idle  ///< The result of `idle_at_end`.
};

/// Returns how long a block was held after its last use (if it has no use, after its allocation): until its free, or
/// until `end` if it was never freed. In ns.
[[nodiscard]] inline time_ns idle_at_end(const block_row& row, time_ns end) {
  const time_ns until = row.died == trace::unknown_time ? end : row.died;
  const time_ns since = row.last_use == trace::unknown_time ? row.born : row.last_use;
  return until > since ? until - since : 0;
}

struct block_table {
  std::vector<block_row> rows;    ///< In the requested order; at most `blocks_query::rows` and `row_limit` rows.
  std::uint64_t count = 0;        ///< The number of all matching blocks.
  std::uint64_t total_bytes = 0;  ///< The sum over all matching blocks, which may be of several layers.
  /// The attribution of `asked_by`: the requested or the most even one.
  symbols::attribution by = symbols::attribution::line;
  std::vector<std::string> names;       ///< The code that allocated the blocks.
  std::vector<std::uint32_t> asked_by;  ///< For each row, the index in `names` of that code.
  std::vector<std::int64_t> steps;  ///< For each row, the step of the allocation, or -1. Empty if there are no steps.
  bool uses_known = false;          ///< Uses were requested and recorded. If false, no block is known to be unused.

  static constexpr std::size_t row_limit = 200'000;
  /// The number of largest blocks that a recording's file stores. The engine returns these blocks without a delay.
  static constexpr std::size_t first_rows = 512;
};

/// A label and a value as display text.
struct detail {
  std::string label;
  std::string value;
  trace::event_id link{};   ///< The event that the value links to, or none.
  trace::block_id block{};  ///< The block that the value links to, or none.
};

struct event_details {
  trace::event_id event{};
  std::string title;
  time_range span;
  std::uint64_t track = 0;  ///< The id of the track that shows the event.
  std::vector<detail> details;
  std::vector<symbols::frame_line> stack;  ///< The stack of the call that caused the event, innermost frame first.
};

// --- stacks ---------------------------------------------------------------------------------------------------------

/// The quantity that is summed up for each stack.
enum class stack_measure : std::uint8_t {
  peak,         ///< Memory that is live at the peak within the range.
  live,         ///< Memory that is live at one time.
  allocated,    ///< Memory allocated in the range.
  transferred,  ///< Bytes copied in the range.
  host          ///< Time that host threads spent in the range, from samples: `busy` and `alone` of `stack_metrics`.
};

/// Memory of one layer, device and kind, which has its own total.
struct memory_choice {
  trace::layer layer = trace::layer::driver;
  trace::device_id device{};
  trace::memory_kind kind = trace::memory_kind::unknown;
  std::uint64_t peak = 0;   ///< The peak over the whole recording, in bytes.
  std::string label;        ///< "GPU 0, framework: device"
  bool has_stacks = false;  ///< At least one of its blocks has a stack.
};

/// Call stacks merged into one tree, with the source lines of its nodes.
struct stack_view {
  metrics::stack_tree tree;  ///< A node's `line` is an index into `lines`.
  std::vector<symbols::frame_line> lines;
  /// For each node, a hash of the lines on its path. Other results have the same hashes.
  std::vector<std::uint64_t> ids;
  metrics::stack_metrics without;      ///< The part of `tree.nodes[0].all` that has no stack.
  std::vector<memory_choice> choices;  ///< Sorted by descending peak.
  /// The index in `choices` of the memory shown; none for copies, or if `choices` is empty.
  std::optional<std::size_t> choice;
  time_ns time = 0;              ///< The time of the peak, or the requested time.
  bool recorded = false;         ///< The recording has stacks.
  bool kernels_known = false;    ///< For copies and host time: kernels were recorded. If false, `alone` is meaningless.
  bool symbols_pending = false;  ///< Some native functions have no names yet.
  std::optional<symbols::attribution> grouped_by{};  ///< The attribution by which the tree's first level is grouped.
};

// --- messages -------------------------------------------------------------------------------------------------------

/// A message of the recorder, or about the recording.
struct message {
  trace::severity severity = trace::severity::info;
  std::string text;
  time_ns time = 0;
};

}  // namespace sluice::query
