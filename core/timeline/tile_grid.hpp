#pragma once

#include <compare>
#include <span>
#include <vector>

#include "core/trace/file/reader.hpp"
#include "core/trace/model/summary_rows.hpp"

/// Where the tiles of a recording lie (what they are: core/trace/model/summary_rows.hpp). A tree over aligned dyadic spans of time: that of
/// `time_tree`, cut where a span holds few enough events to be read at once.
namespace sluice::timeline {

using trace::time_ns;

/// The span [begin, end) of 2^level ns; `begin` is a multiple of that.
struct tile {
  time_ns begin = 0;
  unsigned level = 0;
  [[nodiscard]] time_ns length() const { return time_ns{1} << level; }
  [[nodiscard]] time_ns end() const { return begin + length(); }
  [[nodiscard]] unsigned bin_level() const { return level - trace::tile_bins_log2; }
  friend auto operator<=>(const tile&, const tile&) = default;
};

/// The one of that level that holds `time`.
[[nodiscard]] constexpr tile tile_at(time_ns time, unsigned level) { return {time >> level << level, level}; }

/// No tile is shorter: its bins last 1 ns.
inline constexpr unsigned lowest_tile_level = trace::tile_bins_log2;
/// No recording is longer: `analysis::bounded` times span less.
inline constexpr unsigned highest_tile_level = 62;

/// The undivided tiles that hold [begin, end] and follow one another; at most four, all of one level.
[[nodiscard]] std::vector<tile> root_tiles(time_ns begin, time_ns end);

/// So many events at least lie in a section for each block that lives in it: every part of a recording is told of the blocks that
/// live on into it, and where a million leaked that must not cost more than the events do.
inline constexpr double events_a_live_block = 2;

/// Sections: the tiles under the roots of [begin, end] that are not divided, in order of time. One is divided while more than `target`
/// events lie in it, and more than `events_a_live_block` for each block that lives at its end, by what the headers of `chunks` say, and
/// while its parts can be tiles. Roots are always divided into four, so that a view of all finds bins for its pixels. O(chunks * levels).
[[nodiscard]] std::vector<trace::section_row> plan_sections(time_ns begin, time_ns end,
                                                            std::span<const trace::chunk_info> chunks, double target);

}  // namespace sluice::timeline
