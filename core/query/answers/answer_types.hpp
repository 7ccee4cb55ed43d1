#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/figures/stack_tree.hpp"
#include "core/index/memory/categories.hpp"
#include "core/symbols/frames.hpp"
#include "core/timeline/sampled_bin.hpp"
#include "core/timeline/slice_kind.hpp"
#include "core/timeline/time_range.hpp"
#include "core/trace/model/model.hpp"
#include "core/trace/model/row_type.hpp"

/// What views are told. Plain values: a view draws them and owns nothing else.
namespace sluice::query {

using analysis::slice_kind;
using analysis::time_range;
using trace::time_ns;

// --- tracks ---------------------------------------------------------------------------------------------------------

enum class track_kind : std::uint8_t { memory, pool, bandwidth, direction, stream, host_thread, counter, steps };

/// A row of the timeline. Its id is stable while the trace grows.
struct track {
  std::uint64_t id = 0;
  track_kind kind = track_kind::stream;
  std::string label;   ///< "Stream 7", "Host to device", "python (1234)".
  std::string detail;  ///< Of a second line or a tip: the device, the process.
  trace::process_id process{};
  trace::device_id device{};
  trace::stream_id stream{};
  trace::thread_id thread{};
  trace::pool_id pool{};
  trace::counter_id counter{};
  trace::direction direction = trace::direction::unknown;
  std::uint16_t depth = 1;  ///< Rows of nested slices it needs.
};

/// A time in which the recorder lost events.
struct lost_span {
  time_range span;
  std::uint64_t events = 0;
  std::uint64_t memory_events = 0;  ///< Of those, allocations and frees.
};

struct track_list {
  std::vector<track> tracks;    ///< In the order to be shown.
  time_range span;              ///< Of the whole trace.
  std::vector<lost_span> lost;  ///< In order of time, at most `lost_limit`: of more, neighbours are joined.
  /// Up to when the device times of all processes are complete: what is later may lack kernels and copies.
  time_ns complete_until = trace::unknown_time;  ///< unknown_time: all of them are.

  static constexpr std::size_t lost_limit = 256;
};

// --- slices ---------------------------------------------------------------------------------------------------------

struct slice {
  time_ns begin = 0;
  time_ns end = 0;
  std::uint16_t depth = 0;
  slice_kind kind = slice_kind::kernel;
  std::uint32_t count = 1;  ///< > 1: so many events in one pixel, drawn as one.
  float busy = 1;           ///< Share of [begin, end) that is covered.
  trace::string_id name{};  ///< Of the event, or of the longest in the pixel.
  trace::event_id event{};  ///< Likewise.
  std::uint64_t bytes = 0;
  std::int64_t step = 0;  ///< The number of a step.
};

struct slice_list {
  time_range range;           ///< Of the question these answer: while panning it lags behind the one asked.
  std::vector<slice> slices;  ///< By depth, those of one depth in order of begin.
};

// --- series ---------------------------------------------------------------------------------------------------------

/// One pixel's worth of a value over time.
using bin = analysis::sampled_bin;

enum class band_role : std::uint8_t { used, reserved, untracked, recorder, total, value };

/// One curve of a track.
struct band {
  std::string label;
  band_role role = band_role::value;
  trace::layer layer = trace::layer::driver;
  trace::memory_kind kind = trace::memory_kind::unknown;
  trace::direction direction = trace::direction::unknown;
  analysis::category category = analysis::category::none;  ///< Of a layer that is shown by categories.
  bool by_category = false;                                ///< `category` means something, be it none.
  bool stacked = false;   ///< Stands on the stacked bands before it; the others are lines of their own.
  std::vector<bin> bins;  ///< About as many as the question's width; bytes, bytes/s or the counter's unit.
};

/// A horizontal line to be drawn with its name: "PCIe 5 x16 peak 63.0 GB/s", "device memory 141 GB".
struct limit_line {
  std::string label;
  double value = 0;
  trace::direction direction = trace::direction::unknown;  ///< Of a limit that holds one way only.
};

struct series {
  time_range range;  ///< What the bins divide evenly: while panning it lags behind the range asked.
  std::vector<band> bands;
  std::vector<limit_line> limits;
  double maximum = 0;  ///< Over the whole trace, so that the axis does not jump while panning.
};

// --- search ---------------------------------------------------------------------------------------------------------

/// An event whose name holds what was searched for.
struct found_event {
  trace::event_id event{};
  time_ns begin = 0;
  time_ns end = 0;  ///< >= begin.
  trace::string_id name{};
  trace::row_type kind{};
};

/// All events of one kind and name.
struct found_name {
  trace::string_id name{};
  trace::row_type kind{};
  std::uint64_t count = 0;
  time_ns time = 0;  ///< The sum of their lengths.
  found_event first;
  found_event longest;
};

struct search_results {
  std::string text;                 ///< What was searched for.
  std::vector<found_name> names;    ///< The most frequent first; at most `name_limit`.
  std::uint64_t name_count = 0;     ///< Before the cut.
  std::vector<found_event> events;  ///< The earliest first; at most `event_limit`.
  std::uint64_t total = 0;          ///< Of events, before the cut.

  static constexpr std::size_t name_limit = 1'000;
  static constexpr std::size_t event_limit = 10'000;
};

// --- tables ---------------------------------------------------------------------------------------------------------

struct block_row {
  trace::block_id block{};
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  trace::layer layer = trace::layer::driver;
  trace::memory_kind kind = trace::memory_kind::unknown;
  trace::device_id device{};
  trace::stream_id stream{};
  trace::pool_id pool{};
  trace::string_id name{};
  trace::event_id alloc{};
  time_ns born = 0;
  time_ns died = trace::unknown_time;  ///< unknown_time: never freed.
  analysis::block_category category;
};

enum class block_column : std::uint8_t { address, bytes, layer, kind, born, died, lifetime, name, category };

struct block_table {
  std::vector<block_row> rows;    ///< As many as were asked for and `row_limit`, the first ones in the order asked for.
  std::uint64_t count = 0;        ///< Of all that match.
  std::uint64_t total_bytes = 0;  ///< Likewise; it may add up several layers.

  static constexpr std::size_t row_limit = 200'000;
  /// So many of the biggest blocks of a recording are kept in its file, and told at once.
  static constexpr std::size_t first_rows = 512;
};

/// Label and value, as text ready to be shown, in order.
struct detail {
  std::string label;
  std::string value;
  trace::event_id link{};   ///< The event it leads to, if any.
  trace::block_id block{};  ///< The block it leads to, if any.
};

struct event_details {
  trace::event_id event{};
  std::string title;
  time_range span;
  std::uint64_t track = 0;  ///< Where it is drawn.
  std::vector<detail> details;
  std::vector<symbols::frame_line> stack;  ///< Of the call that made it, innermost first; empty if none was recorded.
};

// --- stacks ---------------------------------------------------------------------------------------------------------

/// What stacks are weighed by.
enum class stack_measure : std::uint8_t {
  peak,        ///< What was live when the blocks held most bytes in the range.
  live,        ///< What was live at a moment.
  allocated,   ///< What was born in the range.
  transferred  ///< What was copied in the range.
};

/// Memory that has a total of its own.
struct memory_choice {
  trace::layer layer = trace::layer::driver;
  trace::device_id device{};
  trace::memory_kind kind = trace::memory_kind::unknown;
  std::uint64_t peak = 0;   ///< Bytes, in the whole recording.
  std::string label;        ///< "GPU 0, framework: device"
  bool has_stacks = false;  ///< Some of its blocks have one.
};

/// Call stacks merged into one tree, and the lines that its nodes name.
struct stack_view {
  analysis::stack_tree tree;  ///< A node's `line` is an index into `lines`.
  std::vector<symbols::frame_line> lines;
  std::vector<std::uint64_t> ids;      ///< Of each node: a hash of the lines down to it, the same in every answer.
  analysis::stack_figures without;     ///< Of `tree.nodes[0].all`, what no stack was recorded for.
  std::vector<memory_choice> choices;  ///< Most bytes first.
  std::optional<std::size_t> choice;   ///< The one that this is about; none for copies, and where there is no memory.
  time_ns time = 0;                    ///< Of the peak, or the moment asked for.
  bool recorded = false;               ///< The recording holds stacks at all.
  bool kernels_known = false;          ///< Of copies: otherwise `alone` says nothing.
  bool symbols_pending = false;        ///< Some native functions are still to be named.
};

// --- messages -------------------------------------------------------------------------------------------------------

struct message {
  trace::severity severity = trace::severity::info;
  std::string text;
  time_ns time = 0;
};

}  // namespace sluice::query
