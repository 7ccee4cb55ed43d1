#pragma once

#include <compare>
#include <span>
#include <vector>

#include "core/trace/file/reader.hpp"
#include "core/trace/model/summary_rows.hpp"

/// Plans the tiles of a recording (defined in core/trace/model/summary_rows.hpp). Tiles form a tree of time spans of
/// 2^n ns that are aligned to their length. A tile with few enough events to be read at once is not divided further and
/// is called a section.
namespace sluice::timeline {

/// The time span [begin, end), which is 2^level ns long. `begin` is a multiple of that length.
struct tile {
  time_ns begin = 0;
  unsigned level = 0;
  [[nodiscard]] time_ns length() const { return time_ns{1} << level; }
  [[nodiscard]] time_ns end() const { return begin + length(); }
  [[nodiscard]] unsigned bin_level() const { return level - trace::tile_bins_log2; }
  friend auto operator<=>(const tile&, const tile&) = default;
};

/// Returns the tile that contains `time` and has the level `level`.
[[nodiscard]] constexpr tile tile_at(time_ns time, unsigned level) { return {time >> level << level, level}; }

/// The level of the shortest tiles, whose bins are 1 ns long.
inline constexpr unsigned lowest_tile_level = trace::tile_bins_log2;
/// The level of the longest tiles, which are long enough for all `bounded` times.
inline constexpr unsigned highest_tile_level = 62;

/// Returns the topmost tiles, which cover [begin, end]: at most four, adjacent, and all of the same level.
[[nodiscard]] std::vector<tile> root_tiles(time_ns begin, time_ns end);

/// A tile is divided only if it has more than this number of events for each block that is live at its end. Each
/// section repeats the blocks that are live across its start. With a million leaked blocks, these repetitions must not
/// cost more than the events.
inline constexpr double events_a_live_block = 2;

/// Plans the sections below the root tiles of [begin, end], in order of time. A tile above the lowest level is divided
/// if it has more than `target` events and more than `events_a_live_block` events for each block that is live at its
/// end. Both numbers are estimated from `chunks`. Root tiles are always divided into four, so that an overview has
/// enough bins. `settled`: adjacent sections of an earlier plan for the same recording, which are kept. The other
/// sections are planned after the settled sections and, if `begin` is earlier than these, also before them. O(chunks *
/// levels).
[[nodiscard]] std::vector<trace::section_row> plan_sections(time_ns begin, time_ns end,
                                                            std::span<const trace::chunk_info> chunks, double target,
                                                            std::span<const trace::section_row> settled = {});

/// Plans sections of a growing recording: those that follow `settled` and end at or before `until`. Where there are few
/// events so far, these sections may be shorter than in a plan of the whole recording, unless more events arrive late.
/// O(chunks * levels).
[[nodiscard]] std::vector<trace::section_row> plan_next_sections(time_ns begin, time_ns end,
                                                                 std::span<const trace::chunk_info> chunks,
                                                                 double target,
                                                                 std::span<const trace::section_row> settled,
                                                                 time_ns until);

}  // namespace sluice::timeline
