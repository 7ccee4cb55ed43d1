#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "core/figures/report.hpp"
#include "core/index/memory/memory_use.hpp"

namespace sluice::analysis {

/// A segment at one moment, and the blocks of a higher layer that lie in it. Mapped pieces that touch are one segment.
struct segment_layout {
  struct piece {
    std::uint64_t offset = 0;  ///< Bytes from the begin of the segment.
    std::uint64_t bytes = 0;   ///< What the block takes.
    std::size_t block = 0;     ///< Position in `memory_use::blocks()`.
  };
  std::size_t block = 0;  ///< Position in `memory_use::blocks()`: the segment, or its first mapped piece.
  std::uint64_t bytes = 0;
  bool mapped = false;        ///< Made of mapped pieces.
  std::vector<piece> pieces;  ///< By offset.
};

/// Calls `visit(offset, bytes)` for each hole of a segment that remains without the pieces for which `is_left_out(piece)`.
template <class LeftOut, class Visit>
void visit_holes(const segment_layout& of, LeftOut&& is_left_out, Visit&& visit) {
  std::uint64_t end_of_used = 0;
  for (const segment_layout::piece& piece : of.pieces) {
    if (piece.offset >= of.bytes) break;
    if (is_left_out(piece)) continue;
    if (piece.offset > end_of_used) visit(end_of_used, piece.offset - end_of_used);
    end_of_used = std::max(end_of_used, piece.offset + std::min(piece.bytes, of.bytes - piece.offset));
  }
  if (of.bytes > end_of_used) visit(end_of_used, of.bytes - end_of_used);
}

/// The same for the segment as it is.
template <class Visit>
void visit_holes(const segment_layout& of, Visit&& visit) {
  visit_holes(
      of, [](const segment_layout::piece&) { return false; }, visit);
}

/// Collects, from indexes of sections, the segments (blocks that contain blocks of a higher layer). All segments of the
/// recording are needed: one without a live block at a peak is free space, too. Private to core.
class fragmentation_builder {
 public:
  /// Adds the segments of the blocks born in `run`, the time range that `from` covers. O(blocks).
  void add(const memory_use& from, time_range run);

  /// Call after the last `add`. Returns the free space in segments at `peak`; `from` must cover its time. Nothing for
  /// the driver layer, for blocks without segments, or if addresses contradict the nesting. O(blocks + segments).
  [[nodiscard]] std::optional<fragmentation_figure> at(const memory_peak& peak, const memory_use& from) const;
  /// Call after the last `add`. Returns the segments of a memory that are live at `time`, which `from` must cover, ordered
  /// by position. Empty where `at` gives nothing. O(blocks + segments).
  [[nodiscard]] std::vector<segment_layout> segments_at(const memory_key& key, time_ns time,
                                                        const memory_use& from) const;

 private:
  std::map<memory_key, std::set<trace::block_id>> parents_;
};

}  // namespace sluice::analysis
