#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "core/trace/model/ids.hpp"
#include "core/trace/model/kinds.hpp"

/// Rows that sum up what a recording holds, so that a reader need not go through its events. They are the file's own: made from
/// its events when it is closed, told apart from them (`snapshot::summaries`), and never needed, only faster. A file that was
/// not closed, or that is small, has none.
///
/// Time is cut into *tiles*: spans of 2^n ns that begin at multiples of their length, two to the span above. A tile in which
/// more than some 50,000 events lie, more where many blocks live, is divided; the others are the *sections*, one after another.
/// Each tile sums up every curve and every lane of slices in `tile_bins` equal bins. So a view of any span finds bins about as
/// wide as its pixels by reading a few tiles; below a section's bins it reads the section's events themselves.
namespace sluice::trace {

inline constexpr unsigned tile_bins_log2 = 9;
inline constexpr std::uint32_t tile_bins = 1U << tile_bins_log2;
/// Files before version 4 have every second of these levels.
inline constexpr unsigned tile_fan_out_log2 = 1;

/// A leaf of the tree of tiles, [time, end). In order of time; from the first tile to the last without a gap.
struct section_row {
  time_ns time = 0;
  time_ns end = 0;
  std::uint64_t events = 0;  ///< Estimated: how many lie in it.
};

/// A block that lives over a boundary between two sections, with all that its events say. Stored once: at the boundary that it
/// crosses whose number has the most trailing zeros. In order of (that many, the most first; the boundary; birth), so that all
/// but a few chunks span little time.
struct boundary_block_row {
  time_ns time = 0;  ///< Birth.
  time_ns end = 0;   ///< Death; the latest time there is for a block that was never freed.
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
  bool death_inferred = false;  ///< Not freed in any event, but gone from a checkpoint after a loss.
  std::uint8_t category = 0;    ///< analysis::category
  std::uint8_t reason = 0;      ///< analysis::category_reason
};

/// What a block is for; of those that have a category and cross no boundary. A chunk holds those of one section.
struct block_category_row {
  block_id block{};
  std::uint8_t category = 0;
  std::uint8_t reason = 0;
};

/// All uses of a block that lives over a boundary, or was used outside of the section that it lives in.
struct block_uses_row {
  time_ns time = 0;  ///< Birth, and death as of boundary_block_row.
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
  time_ns first_arrival = unknown_time;  ///< Of copies from the host.
  time_ns last_arrival = unknown_time;
  std::uint64_t arrivals = 0;
  std::uint64_t pageable_arrivals = 0;
};

/// What a curve shows. Numbers are stored: never reuse one.
enum class curve_kind : std::uint8_t {
  unknown,
  memory,         ///< Bytes of a layer and kind on a device.
  category,       ///< The part of those that is of one category.
  pool_reserved,  ///< What pool events say.
  pool_used,      ///< Likewise.
  pool_blocks,    ///< What a pool's blocks add up to.
  device_used,    ///< Sampled, and what follows from it.
  device_recorder,
  device_untracked,
  rate,  ///< Bytes per second that one direction moves.
  counter
};
template <>
inline constexpr std::uint64_t enum_values<curve_kind> = 11;

/// A curve: a value over time that the file has in bins.
struct curve_row {
  std::uint32_t curve = 0;  ///< Its number in this file, from 0.
  curve_kind what = curve_kind::unknown;
  trace::layer layer = trace::layer::driver;
  memory_kind kind = memory_kind::unknown;
  direction way = direction::unknown;
  std::uint8_t category = 0;  ///< analysis::category
  bool has_segments = false;  ///< Of a pool: the driver's blocks name it, so its bytes are among theirs.
  device_id device{};
  pool_id pool{};
  counter_id counter{};
  double maximum = 0;  ///< Over the recording.
};

/// What a curve does in a bin of a tile. A bin without a row is constant: at the `last` of the one before it, 0 before the first.
/// The first bin of a tile has a row, unless the value there is 0.
struct curve_bin_row {
  time_ns time = 0;  ///< The bin's begin.
  std::uint32_t curve = 0;
  double minimum = 0;
  double maximum = 0;
  double mean = 0;  ///< To a millionth: it may lie as far beyond the two.
  double last = 0;  ///< At the bin's end.
};

/// A share, 0..1, to a 2048th of itself: 10 bits of fraction, and above them 6 of exponent, of which 63 is 1. The upper bits of a float whose
/// exponent is 64 less; 0 is 0.
[[nodiscard]] constexpr std::uint16_t small_share(double share) {
  constexpr std::uint32_t lowest = 65U << 23;
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(share > 1 ? 1 : share)) + (1U << 12);
  return share > 0 && bits >= lowest ? static_cast<std::uint16_t>((bits - (64U << 23)) >> 13) : std::uint16_t{0};
}
[[nodiscard]] constexpr double share_of(std::uint16_t small) {
  return small == 0 ? 0 : std::bit_cast<float>((static_cast<std::uint32_t>(small) << 13) + (64U << 23));
}

/// The same of a curve whose values are whole numbers below 2^53 throughout a tile, as bytes are: told by what was before, in half the bytes
/// of doubles. The value before a bin is that at the end of the row before, and for a curve's first
/// row in a tile `begin`.
struct integer_bin_row {
  time_ns time = 0;  ///< The bin's begin.
  std::uint32_t curve = 0;
  std::int64_t begin = 0;  ///< In a curve's first row in a tile: what its fall and rise are told from.
  std::int64_t fall = 0;   ///< How far the minimum lies below the value before.
  std::int64_t rise = 0;   ///< How far the maximum lies above it.
  std::uint64_t last = 0;  ///< How far the value at the bin's end lies above the minimum.
  std::uint16_t mean = 0;  ///< Where it lies between the two, 0..1, as a `small_share`.
};

/// The signed columns of these rows, but for `time`, are differences, and no times.
template <class Row>
inline constexpr bool has_differences = false;
template <>
inline constexpr bool has_differences<integer_bin_row> = true;

/// Whose slices a lane shows. Numbers are stored: never reuse one.
enum class lane_kind : std::uint8_t { unknown, stream, direction, host_ranges, host_calls, steps };
template <>
inline constexpr std::uint64_t enum_values<lane_kind> = 6;

/// A lane: slices of a stream, a direction or a thread that do not overlap. Of one owner they count from 0, the upper ones first.
struct lane_row {
  std::uint32_t lane = 0;   ///< Its number in this file, from 0.
  std::uint32_t depth = 0;  ///< Among those of the same owner.
  lane_kind what = lane_kind::unknown;
  direction way = direction::unknown;
  process_id process{};
  device_id device{};
  stream_id stream{};
  thread_id thread{};
};

/// What a lane does in a bin of a tile; a bin without a row is empty.
struct lane_bin_row {
  time_ns time = 0;  ///< The bin's begin.
  std::uint32_t lane = 0;
  std::uint32_t count = 0;  ///< Slices that begin in it.
  time_ns busy = 0;         ///< The part of it that slices cover, in ns; to a 1024th of the bin.
  std::uint64_t bytes = 0;  ///< Of the slices that begin in it; of steps the number of the longest.
  time_ns length = 0;       ///< Upper eight bits of the longest slice's with a part in it; what follows is of that one.
  event_id event{};
  string_id name{};
  std::uint8_t kind = 0;  ///< analysis::slice_kind
  std::uint8_t tag = 0;
};

/// A slice that runs on over the begin of a section. A chunk holds those of one boundary.
struct open_slice_row {
  time_ns time = 0;  ///< The boundary.
  lane_kind what = lane_kind::unknown;
  std::uint32_t owner = 0;  ///< Its number among the streams, directions or threads that the saved "parts" list.
  std::uint32_t lane = 0;
  time_ns begin = 0;
  time_ns end = 0;
  event_id event{};
  string_id name{};
  std::uint64_t bytes = 0;
  std::uint8_t kind = 0;  ///< analysis::slice_kind
  std::uint8_t tag = 0;
};

/// What a `last_sample_row` is of. Numbers are stored: never reuse one.
enum class sampled_thing : std::uint8_t { unknown, counter, pool, device };
template <>
inline constexpr std::uint64_t enum_values<sampled_thing> = 4;

/// The last sample of a counter, a pool or a device before a section begins: it holds until the next. A chunk holds those of one
/// boundary. Chunks of all times hold the first sample of each, however late, and the highest; a file without those has no such rows.
struct last_sample_row {
  time_ns time = 0;  ///< The boundary.
  sampled_thing what = sampled_thing::unknown;
  time_ns sampled = 0;
  event_id event{};
  counter_id counter{};
  pool_id pool{};
  device_id device{};
  double value = 0;            ///< Of a counter.
  std::uint64_t reserved = 0;  ///< Of a pool, as of pool_event.
  std::uint64_t used = 0;
  std::uint64_t free = 0;  ///< Of a device, as of device_memory_event.
  std::uint64_t total = 0;
  std::uint64_t recorder = 0;
};

/// What a chunk of events is about, so that those that a question reads are found without reading them all. In order of the file.
struct chunk_reach_row {
  time_ns time = INT64_MAX;  ///< The first time that counts for a question about its rows: also when work was enqueued.
  time_ns end = INT64_MIN;   ///< The last one: a row without an end lasts for ever.
  std::uint64_t chunk = 0;   ///< Its number among those of the file, of tables too, but not of summaries.
  std::uint64_t lowest_event = 0;  ///< Of its rows' ids; of attributes and links, of what they are about.
  std::uint64_t highest_event = 0;
  std::uint64_t lowest_block = 0;  ///< Of allocations and of blocks in checkpoints; else 0.
  std::uint64_t highest_block = 0;
};

/// A step of a program that repeats itself: as the program says, or as its allocations show. In order of (process, time); a chunk holds
/// steps of one process, and those of a process do not overlap.
struct step_row {
  time_ns time = 0;
  time_ns end = 0;
  process_id process{};
  std::int64_t number = 0;  ///< As the program says, else counted from 0.
  event_id event{};         ///< The mark or range; none: inferred.
};

/// A named part of what was found out about the recording as a whole, in a form of its own.
struct saved_row {
  std::string name;
  std::uint32_t version = 0;
  std::string bytes;
};

/// Every kind of these rows: X(struct, row_type).
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

/// Those that are bins of tiles.
#define SLUICE_FOR_EACH_ROW_OF_TILES(X) X(curve_bin_row) X(integer_bin_row) X(lane_bin_row)

}  // namespace sluice::trace
