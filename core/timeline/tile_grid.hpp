#pragma once

#include <compare>
#include <span>
#include <vector>

#include "core/trace/file/reader.hpp"
#include "core/trace/model/summary_rows.hpp"

/// The tiles of a recording (defined in core/trace/model/summary_rows.hpp): a tree over time spans of 2^n ns, aligned
/// to their length. A span with few enough events to be read at once is not divided further; it is a section.
namespace sluice::timeline {

using trace::time_ns;

/// The time span [begin, end) of 2^level ns. `begin` is a multiple of that length.
struct tile {
  time_ns begin = 0;
  unsigned level = 0;
  [[nodiscard]] time_ns length() const { return time_ns{1} << level; }
  [[nodiscard]] time_ns end() const { return begin + length(); }
  [[nodiscard]] unsigned bin_level() const { return level - trace::tile_bins_log2; }
  friend auto operator<=>(const tile&, const tile&) = default;
};

/// Returns the tile of `level` that contains `time`.
[[nodiscard]] constexpr tile tile_at(time_ns time, unsigned level) { return {time >> level << level, level}; }

/// The level of the shortest tile: its bins last 1 ns.
inline constexpr unsigned lowest_tile_level = trace::tile_bins_log2;
/// The level of the longest tile: `analysis::bounded` times span less.
inline constexpr unsigned highest_tile_level = 62;

/// Returns the topmost tiles, adjacent and all of one level, that cover [begin, end]: at most four.
[[nodiscard]] std::vector<tile> root_tiles(time_ns begin, time_ns end);

/// A tile is divided only if it has more events than this for each block live at its end. Each section repeats the
/// blocks that live across its begin; with a million leaked blocks these must not cost more than the events.
inline constexpr double events_a_live_block = 2;

/// Plans the sections under the root tiles of [begin, end], in order of time. A tile is divided while it holds over
/// `target` events and over `events_a_live_block` per block live at its end (estimated from `chunks`), down to the
/// lowest level. Roots are always divided into four, so that a view of everything has enough bins. O(chunks * levels).
/// `settled`: adjacent sections of an earlier plan of the same recording. They stay; the others are planned
/// behind them, and if `begin` lies before them, around them.
[[nodiscard]] std::vector<trace::section_row> plan_sections(time_ns begin, time_ns end,
                                                            std::span<const trace::chunk_info> chunks, double target,
                                                            std::span<const trace::section_row> settled = {});

/// Plans sections of a recording that grows: those behind `settled` that end at `until` or earlier. Where few events
/// were so far, they may be shorter than those of a plan of the whole recording, if none come late. O(chunks * levels).
[[nodiscard]] std::vector<trace::section_row> plan_next_sections(time_ns begin, time_ns end,
                                                                 std::span<const trace::chunk_info> chunks,
                                                                 double target,
                                                                 std::span<const trace::section_row> settled,
                                                                 time_ns until);

}  // namespace sluice::timeline
