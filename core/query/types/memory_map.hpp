#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/time/time_range.hpp"
#include "core/index/tensors/categories.hpp"
#include "core/trace/model/model.hpp"

/// The memory layout at one time: the segments, and the blocks in them. A segment is a block that a pool or framework
/// hands out in parts.
namespace sluice::query {

/// A drawn block, or several neighboring blocks in one pixel, with the holes between them.
struct address_item {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;  ///< From the first to the last byte; for a single block, the space that it takes.
  std::uint64_t used = 0;   ///< The part of `bytes` that is in blocks.
  std::uint32_t count = 1;  ///< The number of blocks in the item.
  trace::block_id block{};  ///< The block, or the largest of several blocks. The members below describe this block.
  trace::stack_id stack{};
  trace::pool_id pool{};
  trace::string_id name{};
  trace::layer layer = trace::layer::driver;
  trace::time_ns born = 0;
  index::block_category category;
  friend bool operator==(const address_item& a, const address_item& b) {
    return a.address == b.address && a.bytes == b.bytes && a.used == b.used && a.count == b.count && a.block == b.block;
  }
};

/// Totals of a segment or a group. A group has one layer, because layers are nested and their totals must not be added.
struct address_totals {
  std::uint64_t bytes = 0;
  std::uint64_t used = 0;          ///< Bytes in blocks; a byte in several blocks counts once.
  std::uint64_t largest_hole = 0;  ///< The longest run of bytes that are in no block.
  std::uint64_t blocks = 0;

  /// 1 - largest hole / free; 0 if nothing is free.
  [[nodiscard]] double fragmentation() const {
    return used >= bytes ? 0 : 1 - static_cast<double>(largest_hole) / static_cast<double>(bytes - used);
  }
};

struct address_group : address_totals {  // `largest_hole` is the largest in any single segment of the group.
  trace::device_id device{};
  trace::process_id process{};
  trace::layer layer = trace::layer::driver;
  bool lone = false;
  std::uint64_t segments = 0;
};

/// A segment: a block with the blocks inside it.
struct address_segment : address_totals {
  trace::block_id block{};
  std::size_t group = 0;  ///< Index in `memory_map::groups`.
  trace::device_id device{};
  trace::process_id process{};
  trace::layer layer = trace::layer::driver;
  trace::memory_kind kind = trace::memory_kind::unknown;
  bool lone = false;  ///< True for a block outside of segments that never contains blocks; that block is the only item.
  std::uint64_t address = 0;
  std::vector<address_item> items;  ///< Sorted by address; the space between items is free.
};

struct memory_map {
  trace::time_ns time = 0;
  std::vector<address_group> groups;      ///< Sorted by device, process and layer (lowest first); lone blocks last.
  std::vector<address_segment> segments;  ///< The `segment_limit` largest ones, sorted by group and address.
  std::uint64_t count = 0;                ///< The number of all segments, including those beyond the limit.

  /// The location of a requested block. If the block is not live at `time`, this is where it was or will be in a
  /// segment that exists at `time`.
  struct place {
    trace::block_id block{};
    trace::block_id segment{};
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    bool live = false;
  };
  std::vector<place> marked;  ///< The requested blocks that have a location, in the order of the query.

  static constexpr std::size_t segment_limit = 4096;
};

/// Requests the memory map at `time`. A segment is a block that at any time is the parent (`block_record::parent`) of a
/// block of a higher layer, or whose addresses contain a live block of a higher layer that has no parent and is of the
/// same process and device. Adjacent mappings form one segment, named after the first mapping. Reservations and
/// physical memory are excluded.
struct memory_map_query {
  trace::time_ns time = 0;
  std::optional<trace::device_id> device{};
  trace::block_id segment{};  ///< The only segment to return; none: all segments.
  std::uint32_t width = 0;    ///< Pixels per segment. Each segment gets at most twice as many items.
  std::uint64_t pixel = 0;    ///< Bytes per pixel, the same for all segments. If it is not 0, it replaces `width`.
  bool lone = false;          ///< Also return blocks outside of segments.
  std::vector<trace::block_id> marks{};  ///< Blocks whose locations are returned.
  friend bool operator==(const memory_map_query&, const memory_map_query&) = default;
  using result_type = memory_map;
};

/// The blocks that are allocated or freed at one time.
struct memory_step {
  trace::time_ns since = 0;  ///< The time in the query.
  bool forward = true;
  trace::time_ns time = trace::unknown_time;  ///< The time of the change; unknown_time if there is no further change.
  std::uint64_t born = 0;                     ///< The number of blocks allocated.
  std::uint64_t born_bytes = 0;
  std::uint64_t died = 0;
  std::uint64_t died_bytes = 0;
  trace::block_id block{};  ///< The largest of the blocks allocated and freed.
};

/// Requests the next or the previous time at which blocks are allocated or freed.
struct memory_step_query {
  trace::time_ns time = 0;
  bool forward = true;  ///< True requests the next change after `time`, and false the last change before `time`.
  std::optional<trace::device_id> device{};
  friend bool operator==(const memory_step_query&, const memory_step_query&) = default;
  using result_type = memory_step;
};

}  // namespace sluice::query
