#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "core/trace/model/ids.hpp"
#include "core/trace/model/kinds.hpp"

/// Rows that summarize a recording, so that a reader need not read all its events. They are derived from the events
/// when the file is closed, kept apart from them (`snapshot::summaries`), and optional: they only save time. Files that
/// were not closed or are small have none.
///
/// Time is divided into *tiles*: spans of 2^n ns, aligned to their length, each the half of its parent. A tile with
/// over about 50,000 events (more if many blocks are live) is divided; the undivided tiles are the *sections*. Each
/// tile summarizes all curves and lanes of slices in `tile_bins` equal bins. So for any view a few tiles have bins
/// about as wide as its pixels; below the bins of a section, the section's events are read.
namespace sluice::trace {

inline constexpr unsigned tile_bins_log2 = 9;
inline constexpr std::uint32_t tile_bins = 1U << tile_bins_log2;
/// A divided tile has 2^1 children. Files before version 4 have tiles of every second level only.
inline constexpr unsigned tile_fan_out_log2 = 1;

/// A section, that is an undivided tile: [time, end). The rows are in order of time, without gaps between sections.
struct section_row {
  time_ns time = 0;
  time_ns end = 0;
  std::uint64_t events = 0;  ///< Estimated number of events in the section.
};

/// A block that lives across a boundary between sections, with all facts from its events. Boundaries are numbered; the
/// block is stored once, at the crossed boundary whose number has the most trailing zero bits. Sorted by (those bits,
/// descending; boundary; birth), so that most chunks cover a short time.
struct boundary_block_row {
  time_ns time = 0;  ///< Birth.
  time_ns end = 0;   ///< Death; the latest possible time if never freed.
  block_id block{};
  block_id parent{};
  event_id alloc{};
  event_id free{};
  process_id process{};
  thread_id thread{};
  device_id device{};
  stream_id stream{};
  pool_id pool{};
  stack_id stack{};
  string_id name{};
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  std::uint64_t reserved_bytes = 0;
  std::uint64_t flags = 0;
  trace::layer layer = trace::layer::driver;
  memory_kind kind = memory_kind::unknown;
  bool death_inferred = false;  ///< No free event, but missing in a checkpoint after events were lost.
  std::uint8_t category = 0;    ///< analysis::category
  std::uint8_t reason = 0;      ///< analysis::category_reason
};

/// The category of a block that lives within one section and has a category. Each chunk covers one section.
struct block_category_row {
  block_id block{};
  std::uint8_t category = 0;
  std::uint8_t reason = 0;
};

/// All uses of a block that lives across a boundary between sections, or was used outside the section it lives in.
struct block_uses_row {
  time_ns time = 0;  ///< Birth of the block; `end` is its death, as in boundary_block_row.
  time_ns end = 0;
  block_id block{};
  time_ns first_time = unknown_time;
  event_id first_event{};
  time_ns last_time = unknown_time;
  event_id last_event{};
  std::uint64_t kernels = 0;
  std::uint64_t copies = 0;
  std::uint64_t replays = 0;
  time_ns first_kernel = unknown_time;
  time_ns first_arrival = unknown_time;  ///< First copy from the host into the block.
  time_ns last_arrival = unknown_time;
  std::uint64_t arrivals = 0;
  std::uint64_t pageable_arrivals = 0;
};

/// What a curve shows. The values are stored in files: never reuse one.
enum class curve_kind : std::uint8_t {
  unknown,
  memory,         ///< Bytes of a layer and kind on a device.
  category,       ///< The part of `memory` that belongs to one category.
  pool_reserved,  ///< From pool events.
  pool_used,      ///< From pool events.
  pool_blocks,    ///< Sum of the pool's blocks.
  device_used,    ///< Sampled. `device_recorder` and `device_untracked` are derived from the samples.
  device_recorder,
  device_untracked,
  rate,  ///< Bytes per second moved in one direction.
  counter
};
template <>
inline constexpr std::uint64_t enum_values<curve_kind> = 11;

/// A curve: a value over time, stored as bins.
struct curve_row {
  std::uint32_t curve = 0;  ///< Number of the curve in this file, from 0.
  curve_kind what = curve_kind::unknown;
  trace::layer layer = trace::layer::driver;
  memory_kind kind = memory_kind::unknown;
  direction way = direction::unknown;
  std::uint8_t category = 0;  ///< analysis::category
  bool has_segments = false;  ///< For a pool: its memory is driver-layer blocks, whose total includes it.
  device_id device{};
  pool_id pool{};
  counter_id counter{};
  double maximum = 0;  ///< Maximum over the recording, in the curve's unit.
};

/// A curve in one bin of a tile. A bin without a row is constant at the `last` of the row before it, or 0 before the
/// first row. The first bin of a tile has a row unless the value is 0 there.
struct curve_bin_row {
  time_ns time = 0;  ///< Begin of the bin.
  std::uint32_t curve = 0;
  double minimum = 0;
  double maximum = 0;
  double mean = 0;  ///< Rounded to a millionth, so it may lie slightly outside [minimum, maximum].
  double last = 0;  ///< Value at the end of the bin.
  /// Maximum, minus the value at the moment in the bin at which the curve's stack is highest. Files before 4.1 have
  /// none, and neither have curves that are in no stack: 0.
  double below_peak = 0;
};

/// Encodes a share in 0..1 in 16 bits, with a relative error below 1/2048: 10 bits of fraction below 6 bits of exponent
/// (63 stands for 2^0). These are the upper bits of a float with its exponent reduced by 64. 0 is 0.
[[nodiscard]] constexpr std::uint16_t small_share(double share) {
  constexpr std::uint32_t lowest = 65U << 23;
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(share > 1 ? 1 : share)) + (1U << 12);
  return share > 0 && bits >= lowest ? static_cast<std::uint16_t>((bits - (64U << 23)) >> 13) : std::uint16_t{0};
}
[[nodiscard]] constexpr double share_of(std::uint16_t small) {
  return small == 0 ? 0 : std::bit_cast<float>((static_cast<std::uint32_t>(small) << 13) + (64U << 23));
}

/// A curve in one bin of a tile where all its values are integers below 2^53, such as bytes; otherwise `curve_bin_row`.
/// Stores differences, which take half the space of doubles. "Value before" is the value at the end of the previous row
/// of the curve, or `begin` in its first row in a tile. Bins without a row: as for `curve_bin_row`.
struct integer_bin_row {
  time_ns time = 0;  ///< Begin of the bin.
  std::uint32_t curve = 0;
  std::int64_t begin = 0;        ///< The value before, in the first row of a curve in a tile; else 0.
  std::int64_t fall = 0;         ///< Value before, minus the minimum.
  std::int64_t rise = 0;         ///< Maximum, minus the value before.
  std::uint64_t last = 0;        ///< Value at the end of the bin, minus the minimum.
  std::uint16_t mean = 0;        ///< Position of the mean between minimum (0) and maximum (1), as a `small_share`.
  std::uint64_t below_peak = 0;  ///< As in `curve_bin_row`.
};

/// True if the signed columns of a row, except `time`, are differences and not times.
template <class Row>
inline constexpr bool has_differences = false;
template <>
inline constexpr bool has_differences<integer_bin_row> = true;

/// Which slices (time intervals) a lane shows. The values are stored in files: never reuse one.
enum class lane_kind : std::uint8_t { unknown, stream, direction, host_ranges, host_calls, steps };
template <>
inline constexpr std::uint64_t enum_values<lane_kind> = 6;

/// A lane: a line of the timeline with non-overlapping slices of one owner (stream, copy direction, thread, process).
struct lane_row {
  std::uint32_t lane = 0;   ///< Number of the lane in this file, from 0.
  std::uint32_t depth = 0;  ///< Number among the lanes of the same owner, from 0, the top one.
  lane_kind what = lane_kind::unknown;
  direction way = direction::unknown;
  process_id process{};
  device_id device{};
  stream_id stream{};
  thread_id thread{};
};

/// The slices of a lane in one bin of a tile. In a bin without a row there are no slices.
struct lane_bin_row {
  time_ns time = 0;  ///< Begin of the bin.
  std::uint32_t lane = 0;
  std::uint32_t count = 0;  ///< Number of slices that begin in the bin.
  time_ns busy = 0;         ///< Time covered by slices, in ns, rounded to 1/1024 of the bin.
  std::uint64_t bytes = 0;  ///< Sum over the slices that begin in the bin; for steps: number of the longest step.
  time_ns length = 0;       ///< Length of the bin's longest slice, to 8 significant bits. Members below: that slice's.
  event_id event{};
  string_id name{};
  std::uint8_t kind = 0;  ///< analysis::slice_kind
  std::uint8_t tag = 0;
};

/// A slice that is still running when a section begins. Each chunk covers the begin of one section.
struct open_slice_row {
  time_ns time = 0;  ///< Begin of the section.
  lane_kind what = lane_kind::unknown;
  std::uint32_t owner = 0;  ///< Number of its stream, direction or thread in the list in the saved row "parts".
  std::uint32_t lane = 0;
  time_ns begin = 0;
  time_ns end = 0;
  event_id event{};
  string_id name{};
  std::uint64_t bytes = 0;
  std::uint8_t kind = 0;  ///< analysis::slice_kind
  std::uint8_t tag = 0;
};

/// What a `last_sample_row` samples. The values are stored in files: never reuse one.
enum class sampled_thing : std::uint8_t { unknown, counter, pool, device };
template <>
inline constexpr std::uint64_t enum_values<sampled_thing> = 4;

/// The last sample of a counter, pool or device before a section, or a device's in it; a chunk is of one section's begin.
/// Chunks that cover all times hold the first and highest samples. Without such chunks, samples must be read as events.
struct last_sample_row {
  time_ns time = 0;  ///< Begin of the section.
  sampled_thing what = sampled_thing::unknown;
  time_ns sampled = 0;
  event_id event{};
  counter_id counter{};
  pool_id pool{};
  device_id device{};
  double value = 0;            ///< For a counter; for a device, its untracked bytes.
  std::uint64_t reserved = 0;  ///< For a pool, as in pool_event.
  std::uint64_t used = 0;
  std::uint64_t free = 0;  ///< For a device, as in device_memory_event.
  std::uint64_t total = 0;
  std::uint64_t recorder = 0;
};

/// Range of times and ids in a chunk of events, to find the chunks that a query needs. In file order.
struct chunk_reach_row {
  time_ns time = INT64_MAX;        ///< First time relevant to queries, including times of enqueueing.
  time_ns end = INT64_MIN;         ///< Last relevant time; a row without an end lasts forever.
  std::uint64_t chunk = 0;         ///< Chunk number in the file, counting table chunks but not summaries.
  std::uint64_t lowest_event = 0;  ///< Lowest id of the chunk's events; for attributes and links, of their targets.
  std::uint64_t highest_event = 0;
  std::uint64_t lowest_block = 0;  ///< For allocations and checkpoint blocks; else 0.
  std::uint64_t highest_block = 0;
};

/// A step of a repetitive program, as marked by the program or inferred from its allocations. Sorted by (process,
/// time). A chunk holds steps of one process, which do not overlap.
struct step_row {
  time_ns time = 0;
  time_ns end = 0;
  process_id process{};
  std::int64_t number = 0;  ///< Number given by the program, else counted from 0.
  event_id event{};         ///< The marker or range that names the step; none: inferred.
};

/// A named result about the whole recording, serialized in its own format.
struct alignas(std::uint64_t) saved_row {
  std::string name;
  std::uint32_t version = 0;
  std::string bytes;
};

/// All kinds of summary rows: X(struct, row_type).
#define SLUICE_FOR_EACH_SUMMARY_ROW(X)  \
  X(section_row, section)               \
  X(boundary_block_row, boundary_block) \
  X(block_category_row, block_category) \
  X(curve_row, curve)                   \
  X(curve_bin_row, curve_bin)           \
  X(lane_row, lane)                     \
  X(lane_bin_row, lane_bin)             \
  X(saved_row, saved)                   \
  X(block_uses_row, block_uses)         \
  X(open_slice_row, open_slice)         \
  X(last_sample_row, last_sample)       \
  X(chunk_reach_row, chunk_reach)       \
  X(step_row, step)                     \
  X(integer_bin_row, integer_bin)

/// The summary rows that hold bins of tiles: X(struct).
#define SLUICE_FOR_EACH_ROW_OF_TILES(X) X(curve_bin_row) X(integer_bin_row) X(lane_bin_row)

}  // namespace sluice::trace
