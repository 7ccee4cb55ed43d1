#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/figures/listed_block.hpp"
#include "core/figures/stack_tree.hpp"
#include "core/index/memory/categories.hpp"
#include "core/query/answers/memory_choices.hpp"
#include "core/replay/replay.hpp"
#include "core/symbols/attribution.hpp"
#include "core/symbols/frames.hpp"
#include "core/timeline/sampled_bin.hpp"
#include "core/timeline/slice_kind.hpp"
#include "core/timeline/time_range.hpp"
#include "core/trace/model/model.hpp"
#include "core/trace/model/row_type.hpp"

/// The answers that views get. Plain values without further ownership.
namespace sluice::query {

using analysis::slice_kind;
using analysis::time_range;
using trace::time_ns;

// --- tracks ---------------------------------------------------------------------------------------------------------

enum class track_kind : std::uint8_t { memory, pool, bandwidth, direction, stream, host_thread, counter, steps };

/// A row of the timeline. Its id does not change while the trace grows.
struct track {
  std::uint64_t id = 0;
  track_kind kind = track_kind::stream;
  std::string label;   ///< "Stream 7", "Host to device", "python (1234)".
  std::string detail;  ///< For a second line or a tooltip: the device, the process.
  trace::process_id process{};
  trace::device_id device{};
  trace::stream_id stream{};
  trace::thread_id thread{};
  trace::pool_id pool{};
  trace::counter_id counter{};
  trace::direction direction = trace::direction::unknown;
  std::uint16_t depth = 1;  ///< The number of rows of nested slices.
  double maximum = 0;       ///< For memory, pools and counters: an upper bound of their values, without samples.
};

/// A time span in which the recorder lost events.
struct lost_span {
  time_range span;
  std::uint64_t events = 0;
  std::uint64_t memory_events = 0;  ///< How many of `events` are allocations and frees.
};

struct track_list {
  std::vector<track> tracks;    ///< In display order.
  time_range span;              ///< Time span of the whole trace.
  time_range active;            ///< Its part from the first to the last device work or allocation.
  std::vector<lost_span> lost;  ///< In order of time. Neighbors are merged to at most `lost_limit`.
  /// Device times of all processes are complete up to this time. Later kernels and copies may be missing.
  time_ns complete_until = trace::unknown_time;  ///< unknown_time: all are complete.

  static constexpr std::size_t lost_limit = 256;
};

// --- slices ---------------------------------------------------------------------------------------------------------

struct slice {
  time_ns begin = 0;
  time_ns end = 0;
  std::uint16_t depth = 0;
  slice_kind kind = slice_kind::kernel;
  std::uint32_t count = 1;  ///< Above 1: this many events in one pixel.
  float busy = 1;           ///< Share of [begin, end) that is covered.
  trace::string_id name{};  ///< Name of the event, or of the longest event in the pixel.
  trace::event_id event{};  ///< The event that has the name `name`.
  std::uint64_t bytes = 0;
  std::int64_t step = 0;  ///< For a step: its number.
};

struct slice_list {
  time_range range;           ///< The range of the answered question; may lag behind the latest while panning.
  std::vector<slice> slices;  ///< By depth, then by start.
};

// --- series ---------------------------------------------------------------------------------------------------------

/// The values of a curve in one pixel. Bands on top of one another are drawn at `at_peak`.
using bin = analysis::sampled_bin;

enum class band_role : std::uint8_t { used, reserved, untracked, recorder, total, value };

/// One curve of a track.
struct band {
  std::string label;
  band_role role = band_role::value;
  trace::layer layer = trace::layer::driver;
  trace::memory_kind kind = trace::memory_kind::unknown;
  trace::direction direction = trace::direction::unknown;
  analysis::category category = analysis::category::none;  ///< The category shown, if `by_category`.
  bool by_category = false;                                ///< `category` is used, even if it is none.
  bool stacked = false;   ///< Drawn on top of the stacked bands before it; others are separate lines.
  std::vector<bin> bins;  ///< About as many as the question's width; bytes, bytes/s or the counter's unit.
  /// For a rate: the share of each bin in which at least one copy ran. Empty for others.
  std::vector<float> busy;
};

/// A horizontal line with a label: "PCIe 5 x16 peak 63.0 GB/s", "device memory 141 GB".
struct limit_line {
  std::string label;
  double value = 0;
  trace::direction direction = trace::direction::unknown;  ///< If the limit applies to one direction.
};

struct series {
  time_range range;  ///< Divided evenly by the bins; may lag behind the latest question while panning.
  std::vector<band> bands;
  std::vector<limit_line> limits;
  double maximum = 0;  ///< Largest value in the whole trace, so that the axis is stable while panning.
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
  time_ns time = 0;  ///< Sum of the events' durations, in ns.
  found_event first;
  found_event longest;
};

struct search_results {
  std::string text;                 ///< The searched text.
  std::vector<found_name> names;    ///< Most frequent first; at most `name_limit`.
  std::uint64_t name_count = 0;     ///< Number of names before the limit.
  std::vector<found_event> events;  ///< Earliest first; at most `event_limit`.
  std::uint64_t total = 0;          ///< Number of events before the limit.
  /// Lines of code in recorded call stacks whose place or function contains the text, as `blocks_question::filter` finds
  /// them: "train.py:12, make". At most `line_limit`. Native functions without a recorded name are not searched.
  std::vector<std::string> lines;

  static constexpr std::size_t line_limit = 100;
  static constexpr std::size_t name_limit = 1'000;
  static constexpr std::size_t event_limit = 10'000;
};

// --- what if --------------------------------------------------------------------------------------------------------

/// What a framework's allocator would have reserved under one setting.
struct replayed_policy {
  std::string policy;  ///< As in PYTORCH_CUDA_ALLOC_CONF, or a word of `sluice whatif`.
  replay::replay_figures figures;
  std::vector<std::uint64_t> reserved;  ///< The most bytes in each of `what_if_curves::parts` equal parts of the span.
};

/// The allocator of one device in one process.
struct replayed_allocator {
  std::string label;  ///< "GPU 0", with the process if there are several.
  trace::process_id process{};
  trace::device_id device{};
  std::uint64_t recorded_peak = 0;  ///< Bytes that were reserved; 0: not recorded.
  bool reproduced = false;          ///< The native model reserves exactly what was recorded.
  std::vector<replayed_policy> policies;
};

struct what_if_curves {
  time_range span;                             ///< From the first request to the last.
  std::vector<replayed_allocator> allocators;  ///< None without framework requests.
  bool too_many = false;                       ///< More than `block_limit` blocks: nothing was replayed.

  static constexpr std::size_t parts = 512;
  static constexpr std::uint64_t block_limit = 2'000'000;
};

// --- tables ---------------------------------------------------------------------------------------------------------

/// A row of the table of blocks.
using block_row = analysis::listed_block;

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
  idle  ///< `idle_at_end`.
};

/// How long a block was held after its last use, or without any: until its free, or until `end` if it was never freed.
[[nodiscard]] inline time_ns idle_at_end(const block_row& row, time_ns end) {
  const time_ns until = row.died == trace::unknown_time ? end : row.died;
  const time_ns since = row.last_use == trace::unknown_time ? row.born : row.last_use;
  return until > since ? until - since : 0;
}

struct block_table {
  std::vector<block_row> rows;    ///< The first in the requested order, at most as requested and `row_limit`.
  std::uint64_t count = 0;        ///< Number of all matching blocks.
  std::uint64_t total_bytes = 0;  ///< Sum over all matching blocks; may add up several layers.
  symbols::attribution by = symbols::attribution::line;  ///< What `asked_by` says: as asked for, or the most even.
  std::vector<std::string> names;                        ///< Who asked for blocks.
  std::vector<std::uint32_t> asked_by;                   ///< For each row an index in `names`.
  std::vector<std::int64_t> steps;  ///< For each row the step in which it was allocated; -1: none. Empty without steps.
  bool uses_known = false;          ///< Uses were asked for and are recorded. Else no block can be called unused.

  static constexpr std::size_t row_limit = 200'000;
  /// This many of the largest blocks of a recording are stored in its file and returned at once.
  static constexpr std::size_t first_rows = 512;
};

/// A label and a value as display text.
struct detail {
  std::string label;
  std::string value;
  trace::event_id link{};   ///< An event to link to, if any.
  trace::block_id block{};  ///< A block to link to, if any.
};

struct event_details {
  trace::event_id event{};
  std::string title;
  time_range span;
  std::uint64_t track = 0;  ///< The track that shows the event.
  std::vector<detail> details;
  std::vector<symbols::frame_line> stack;  ///< Of the call behind the event, innermost first; empty if not recorded.
};

// --- stacks ---------------------------------------------------------------------------------------------------------

/// What stacks are measured by.
enum class stack_measure : std::uint8_t {
  peak,        ///< Live memory at the peak within the range.
  live,        ///< Live memory at a moment.
  allocated,   ///< Memory allocated in the range.
  transferred  ///< Bytes copied in the range.
};

/// Call stacks merged into one tree, with the source lines of its nodes.
struct stack_view {
  analysis::stack_tree tree;  ///< A node's `line` is an index into `lines`.
  std::vector<symbols::frame_line> lines;
  std::vector<std::uint64_t> ids;      ///< For each node: a hash of its path of lines, stable between answers.
  analysis::stack_figures without;     ///< The part of `tree.nodes[0].all` without a stack.
  std::vector<memory_choice> choices;  ///< Most bytes first.
  std::optional<std::size_t> choice;   ///< Index in `choices` of the one shown; none for copies, or without memory.
  time_ns time = 0;                    ///< Time of the peak, or the requested moment.
  bool recorded = false;               ///< The recording has stacks.
  bool kernels_known = false;          ///< For copies: false means `alone` is meaningless.
  bool symbols_pending = false;        ///< Some native functions are not named yet.
  std::optional<symbols::attribution> grouped_by{};  ///< What the first level of the tree is; none: not grouped.
};

// --- messages -------------------------------------------------------------------------------------------------------

struct message {
  trace::severity severity = trace::severity::info;
  std::string text;
  time_ns time = 0;
};

}  // namespace sluice::query
