#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "core/trace/model/ids.hpp"
#include "core/trace/model/kinds.hpp"

/// Rows that summarize a recording, so that a reader need not read all of its events. The summary rows are computed
/// from the events when the file is closed, and kept apart from the events (`snapshot::summaries`). They are optional,
/// because they only save time. A file that is small or was not closed has no summaries.
///
/// Time is divided into *tiles*: spans of 2^n ns, aligned to their length. Each tile is one half of its parent. A tile
/// with more than about 50,000 events is divided; the limit is higher if many blocks are live. The tiles that are not
/// divided are the *sections*. Each tile summarizes all curves and lanes in `tile_bins` equal bins. Any view can
/// therefore be drawn from a few tiles whose bins are about as wide as the pixels of the view. For more detail than the
/// bins of a section have, the events of the section are read.
namespace sluice::trace {

inline constexpr unsigned tile_bins_log2 = 9;
inline constexpr std::uint32_t tile_bins = 1U << tile_bins_log2;
/// A divided tile has 2^1 children. Files before version 4 only have tiles of every second level.
inline constexpr unsigned tile_fan_out_log2 = 1;

/// A section (a tile that is not divided): [time, end). The rows are sorted by time, and there are no gaps between
/// sections.
struct section_row {
  time_ns time = 0;
  time_ns end = 0;
  std::uint64_t events = 0;  ///< The estimated number of events in the section.
};

/// A block that is live across a boundary between sections, with everything that its events say. Boundaries are
/// numbered. A block that crosses several boundaries is stored once, at the boundary whose number has the most trailing
/// zero bits. The rows are sorted by (number of these bits, descending; boundary; allocation time), so that most chunks
/// cover a short time.
struct boundary_block_row {
  time_ns time = 0;  ///< When the block was allocated.
  time_ns end = 0;   ///< When the block was freed; the latest possible time if it is never freed.
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
  bool death_inferred = false;  ///< True if no free event was recorded, but the block is missing from a checkpoint
                                ///< after events were lost.
  std::uint8_t category = 0;    ///< index::category
  std::uint8_t reason = 0;      ///< index::category_reason
};

/// The category of a block that is allocated and freed within one section. Blocks without a category have no row. Each
/// chunk covers one section.
struct block_category_row {
  block_id block{};
  std::uint8_t category = 0;
  std::uint8_t reason = 0;
};

/// All uses of a block that is live across a boundary between sections or was used outside its section.
struct block_uses_row {
  time_ns time = 0;  ///< When the block was allocated. `end` is when it was freed, as in boundary_block_row.
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
  time_ns first_arrival = unknown_time;  ///< Time of the first copy from the host into the block.
  time_ns last_arrival = unknown_time;
  std::uint64_t arrivals = 0;
  std::uint64_t pageable_arrivals = 0;
};

/// The quantity that a curve shows. Never reuse a value, because files store it.
enum class curve_kind : std::uint8_t {
  unknown,
  memory,         ///< Bytes of one layer and kind of memory on a device.
  category,       ///< The part of `memory` that has one category.
  pool_reserved,  ///< Bytes that a pool holds, from pool events.
  pool_used,      ///< Bytes that a pool has handed out, from pool events.
  pool_blocks,    ///< Total bytes of the blocks of a pool.
  device_used,    ///< From samples of the device's memory, as are `device_recorder` and `device_untracked`.
  device_recorder,
  device_untracked,
  rate,  ///< Bytes per second that are moved in one direction.
  counter
};
template <>
inline constexpr std::uint64_t enum_values<curve_kind> = 11;

/// A curve: a value over time, which is stored as bins.
struct curve_row {
  std::uint32_t curve = 0;  ///< The number of the curve in this file, from 0.
  curve_kind type = curve_kind::unknown;
  trace::layer layer = trace::layer::driver;
  memory_kind kind = memory_kind::unknown;
  direction way = direction::unknown;
  std::uint8_t category = 0;  ///< index::category
  bool has_segments = false;  ///< For a pool: true if its memory consists of driver-layer blocks, whose total already
                              ///< includes it.
  device_id device{};
  pool_id pool{};
  counter_id counter{};
  double maximum = 0;  ///< The maximum over the recording, in the unit of the curve.
};

/// A curve in one bin of a tile. If a bin has no row, the curve is constant there: it has the `last` of the previous
/// row, or 0 if there is no previous row. The first bin of a tile has a row unless the curve is 0 there.
struct curve_bin_row {
  time_ns time = 0;  ///< Start of the bin.
  std::uint32_t curve = 0;
  double minimum = 0;
  double maximum = 0;
  double mean = 0;  ///< The mean. Rounded to a millionth, so it may be slightly outside [minimum, maximum].
  double last = 0;  ///< The value at the end of the bin.
  /// The maximum, minus the value at the moment in the bin when the curve's stack is highest. 0 in files before 4.1,
  /// and for curves that are not in a stack.
  double below_peak = 0;
};

/// Encodes a share in 0..1 in 16 bits, with a relative error below 1/2048. The lower 10 bits are the fraction and the
/// upper 6 bits are the exponent, where 63 means 2^0. These are the upper bits of a float whose exponent is reduced by
/// 64. 0 is encoded as 0.
[[nodiscard]] constexpr std::uint16_t small_share(double share) {
  constexpr std::uint32_t lowest = 65U << 23;
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(share > 1 ? 1 : share)) + (1U << 12);
  return share > 0 && bits >= lowest ? static_cast<std::uint16_t>((bits - (64U << 23)) >> 13) : std::uint16_t{0};
}
[[nodiscard]] constexpr double compute_share(std::uint16_t small) {
  return small == 0 ? 0 : std::bit_cast<float>((static_cast<std::uint32_t>(small) << 13) + (64U << 23));
}

/// A curve in one bin of a tile in which all values of the curve are integers below 2^53, such as bytes. In all other
/// tiles, the curve has `curve_bin_row`s. These rows store differences, which take half the space of doubles. "The
/// value before" is the value at the end of the previous row of the curve; in the curve's first row in a tile, it is
/// `begin`. For bins without a row, see `curve_bin_row`.
struct integer_bin_row {
  time_ns time = 0;  ///< Start of the bin.
  std::uint32_t curve = 0;
  std::int64_t begin = 0;        ///< In the first row of a curve in a tile: the value before. Otherwise 0.
  std::int64_t fall = 0;         ///< The value before, minus the minimum.
  std::int64_t rise = 0;         ///< The maximum, minus the value before.
  std::uint64_t last = 0;        ///< The value at the end of the bin, minus the minimum.
  std::uint16_t mean = 0;        ///< Where the mean is between the minimum (0) and the maximum (1), as a `small_share`.
  std::uint64_t below_peak = 0;  ///< See `curve_bin_row::below_peak`.
};

/// True if the signed columns of a row, except `time`, hold differences instead of times.
template <class Row>
inline constexpr bool has_differences = false;
template <>
inline constexpr bool has_differences<integer_bin_row> = true;

/// The kind of slices (time intervals) that a lane shows. Never reuse a value, because files store it.
enum class lane_kind : std::uint8_t { unknown, stream, direction, host_ranges, host_calls, steps };
template <>
inline constexpr std::uint64_t enum_values<lane_kind> = 6;

/// A lane: a line of the timeline with slices of one owner (a stream, copy direction, thread or process) that do not
/// overlap.
struct lane_row {
  std::uint32_t lane = 0;   ///< The number of the lane in this file, from 0.
  std::uint32_t depth = 0;  ///< The position among the lanes of the same owner, from 0 for the top lane.
  lane_kind type = lane_kind::unknown;
  direction way = direction::unknown;
  process_id process{};
  device_id device{};
  stream_id stream{};
  thread_id thread{};
};

/// The slices of a lane in one bin of a tile. A bin without slices has no row.
struct lane_bin_row {
  time_ns time = 0;  ///< Start of the bin.
  std::uint32_t lane = 0;
  std::uint32_t count = 0;  ///< The number of slices that start in the bin.
  time_ns busy = 0;         ///< The time in the bin that slices cover, in ns, rounded to 1/1024 of the bin.
  std::uint64_t bytes = 0;  ///< The total bytes of the slices that start in the bin. For steps, the number of the
                            ///< longest step.
  time_ns length = 0;       ///< The length of the longest slice in the bin, to 8 significant bits. The members below
                            ///< describe this slice.
  event_id event{};
  string_id name{};
  std::uint8_t kind = 0;  ///< timeline::slice_kind
  std::uint8_t tag = 0;
};

/// A slice that is running when a section starts. Each chunk covers the start of one section.
struct open_slice_row {
  time_ns time = 0;  ///< The start of the section.
  lane_kind type = lane_kind::unknown;
  std::uint32_t owner = 0;  ///< The position of the slice's stream, direction or thread in the list in the saved row
                            ///< "parts".
  std::uint32_t lane = 0;
  time_ns begin = 0;
  time_ns end = 0;
  event_id event{};
  string_id name{};
  std::uint64_t bytes = 0;
  std::uint8_t kind = 0;  ///< timeline::slice_kind
  std::uint8_t tag = 0;
};

/// What a `last_sample_row` is a sample of. Never reuse a value, because files store it.
enum class sampled_thing : std::uint8_t { unknown, counter, pool, device };
template <>
inline constexpr std::uint64_t enum_values<sampled_thing> = 4;

/// The last sample of a counter, pool or device before a section, or the last sample of a device in the section. Each
/// chunk belongs to the start of one section. Chunks that cover all times contain the first and the highest samples.
/// Without such chunks, readers must read samples from the events.
struct last_sample_row {
  time_ns time = 0;  ///< The start of the section.
  sampled_thing type = sampled_thing::unknown;
  time_ns sampled = 0;
  event_id event{};
  counter_id counter{};
  pool_id pool{};
  device_id device{};
  double value = 0;            ///< For a counter, its value; for a device, its untracked bytes.
  std::uint64_t reserved = 0;  ///< For a pool: see pool_event.
  std::uint64_t used = 0;
  std::uint64_t free = 0;  ///< For a device: see device_memory_event.
  std::uint64_t total = 0;
  std::uint64_t recorder = 0;
};

/// The range of times and ids in a chunk of events, for finding the chunks that a query needs. Rows are in file order.
struct chunk_reach_row {
  time_ns time = INT64_MAX;        ///< The first time that is relevant to queries, including times of enqueueing.
  time_ns end = INT64_MIN;         ///< The last time that is relevant to queries. A row without an end never ends.
  std::uint64_t chunk = 0;         ///< The number of the chunk in the file. Chunks of tables are counted, those of
                                   ///< summaries are not.
  std::uint64_t lowest_event = 0;  ///< The lowest id of the chunk's events; for attributes and links, of the events
                                   ///< that they refer to.
  std::uint64_t highest_event = 0;
  std::uint64_t lowest_block = 0;  ///< The lowest block id, for allocations and the blocks of checkpoints; else 0.
  std::uint64_t highest_block = 0;
};

/// A step of a program that repeats its work. The program marks its steps, or they are inferred from its allocations.
/// The rows are sorted by (process, time). A chunk contains steps of one process, which do not overlap.
struct step_row {
  time_ns time = 0;
  time_ns end = 0;
  process_id process{};
  std::int64_t number = 0;  ///< The number that the program assigned to the step, or else its position, counted from 0.
  event_id event{};         ///< The marker or range that marks the step. None if the step is inferred.
};

/// A named result about the whole recording, serialized in a format of its own.
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
