#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "core/index/memory/memory_use.hpp"
#include "core/metrics/base/member_list.hpp"
#include "core/metrics/base/memory_peak.hpp"

namespace sluice::metrics {

/// Free space inside a layer's segments when the use of the layer's memory is highest. fragmentation = 1 - largest hole
/// / all holes; 0 if there is at most one hole.
struct fragmentation_metric {
  trace::device_id device{};
  trace::layer layer = trace::layer::pool;
  time_ns time = 0;
  std::uint64_t segments = 0;
  std::uint64_t segment_bytes = 0;
  std::uint64_t free_bytes = 0;
  std::uint64_t largest_free = 0;
  double fragmentation = 0;
};
SLUICE_MEMBERS(fragmentation_metric, member<&row::device>(), member<&row::layer>(), member<&row::time>{"time_ns"},
               member<&row::segments>(), member<&row::segment_bytes>(), member<&row::free_bytes>(),
               member<&row::largest_free>{"largest_free_bytes"}, member<&row::fragmentation>())

/// A segment (a block that contains blocks of a higher layer) at one point in time, and the blocks inside the segment.
/// Adjacent mapped pieces form one segment.
struct segment_layout {
  struct piece {
    std::uint64_t offset = 0;  ///< Bytes from the start of the segment.
    std::uint64_t bytes = 0;   ///< Size of the block.
    std::size_t block = 0;     ///< Position of the block in `memory_use::blocks()`.
  };
  /// Position in `memory_use::blocks()` of the segment or, if it is mapped, of its first piece.
  std::size_t block = 0;
  std::uint64_t bytes = 0;
  bool mapped = false;        ///< True if the segment consists of mapped pieces.
  std::vector<piece> pieces;  ///< Sorted by offset.
};

/// Calls `visit(offset, bytes)` for each hole that the segment would have without the pieces for which
/// `is_left_out(piece)` is true.
template <class LeftOut, class Visit>
void visit_holes(const segment_layout& layout, LeftOut&& is_left_out, Visit&& visit) {
  std::uint64_t end_of_used = 0;
  for (const segment_layout::piece& piece : layout.pieces) {
    if (piece.offset >= layout.bytes) break;
    if (is_left_out(piece)) continue;
    if (piece.offset > end_of_used) visit(end_of_used, piece.offset - end_of_used);
    end_of_used = std::max(end_of_used, piece.offset + std::min(piece.bytes, layout.bytes - piece.offset));
  }
  if (layout.bytes > end_of_used) visit(end_of_used, layout.bytes - end_of_used);
}

/// Calls `visit(offset, bytes)` for each hole of the segment.
template <class Visit>
void visit_holes(const segment_layout& layout, Visit&& visit) {
  visit_holes(
      layout, [](const segment_layout::piece&) { return false; }, visit);
}

/// Collects the segments of a recording section by section. All segments of the recording are needed, because a segment
/// that contains no live block at a peak is free space, too. Private to core.
class fragmentation_builder {
 public:
  /// Adds the segments of the blocks allocated in `run`, the time range that `use` covers. O(blocks).
  void add(const index::memory_use& use, time_range run);

  /// Returns the free space in segments at `peak`. Must be called after the last `add`. `use` must cover the time of
  /// `peak`. Returns nothing for the driver layer, for blocks without segments, or if the addresses of blocks are not
  /// inside their segments. O(blocks + segments).
  [[nodiscard]] std::optional<fragmentation_metric> at(const memory_peak& peak, const index::memory_use& use) const;
  /// Returns the segments of one kind of memory that are live at `time`, which `use` must cover, sorted by position.
  /// Must be called after the last `add`. Empty in the cases in which `at` returns nothing. O(blocks + segments).
  [[nodiscard]] std::vector<segment_layout> segments_at(const index::memory_key& key, time_ns time,
                                                        const index::memory_use& use) const;

 private:
  std::map<index::memory_key, std::set<trace::block_id>> parents_;
};

}  // namespace sluice::metrics
