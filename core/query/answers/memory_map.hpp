#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/index/memory/categories.hpp"
#include "core/timeline/time_range.hpp"
#include "core/trace/model/model.hpp"

/// The memory layout at a moment: the segments, and the blocks in them.
namespace sluice::query {

/// A drawn block, or several neighbors in one pixel with the holes between them.
struct address_item {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;  ///< From the first to the last byte; for one block, what it takes in the segment.
  std::uint64_t used = 0;   ///< The part of `bytes` that is in blocks.
  std::uint32_t count = 1;  ///< Number of blocks in the item.
  trace::block_id block{};  ///< The block, or the largest of several; the members below are about this block.
  trace::stack_id stack{};
  trace::pool_id pool{};
  trace::string_id name{};
  trace::layer layer = trace::layer::driver;
  trace::time_ns born = 0;
  analysis::block_category category;
  friend bool operator==(const address_item& a, const address_item& b) {
    return a.address == b.address && a.bytes == b.bytes && a.used == b.used && a.count == b.count && a.block == b.block;
  }
};

/// The sums over a segment or a group. Groups are per layer: layers are nested, so their sums must not be added.
struct address_totals {
  std::uint64_t bytes = 0;
  std::uint64_t used = 0;          ///< Bytes in blocks; overlapping bytes count once.
  std::uint64_t largest_hole = 0;  ///< Longest run of bytes without a block.
  std::uint64_t blocks = 0;

  /// 1 - largest hole / free; 0 if nothing is free.
  [[nodiscard]] double fragmentation() const {
    return used >= bytes ? 0 : 1 - static_cast<double>(largest_hole) / static_cast<double>(bytes - used);
  }
};

struct address_group : address_totals {  // Its largest hole is the largest in any one segment.
  trace::device_id device{};
  trace::process_id process{};
  trace::layer layer = trace::layer::driver;
  bool lone = false;
  std::uint64_t segments = 0;
};

/// A block with the blocks inside it.
struct address_segment : address_totals {
  trace::block_id block{};
  std::size_t group = 0;  ///< Index in `memory_map::groups`.
  trace::device_id device{};
  trace::process_id process{};
  trace::layer layer = trace::layer::driver;
  trace::memory_kind kind = trace::memory_kind::unknown;
  bool lone = false;  ///< A block in no segment that never contains blocks; it is the only item.
  std::uint64_t address = 0;
  std::vector<address_item> items;  ///< By address; the space between items is free.
};

struct memory_map {
  trace::time_ns time = 0;
  std::vector<address_group> groups;  ///< By device and process, layers from the lowest up; groups of lone blocks last.
  std::vector<address_segment> segments;  ///< By group and address; the `segment_limit` largest ones.
  std::uint64_t count = 0;                ///< Number of all segments.

  /// The place of a requested block. If it is not live: its place in a segment of this moment, past or future.
  struct place {
    trace::block_id block{};
    trace::block_id segment{};
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    bool live = false;
  };
  std::vector<place> marked;  ///< Only blocks that have a place, in the requested order.

  static constexpr std::size_t segment_limit = 4096;
};

/// Asks for the memory map at `time`. A segment is a block of a lower layer that another block names as its parent
/// (`block_record::parent`) at any time, or whose addresses contain a live block of its process and device without a
/// parent. Adjacent mappings form one segment, named after the first. Reservations and physical memory are left out.
struct memory_map_question {
  trace::time_ns time = 0;
  std::optional<trace::device_id> device{};
  trace::block_id segment{};  ///< Only this segment; none: all.
  std::uint32_t width = 0;    ///< Pixels per segment; each segment gets at most twice as many items.
  std::uint64_t pixel = 0;    ///< Bytes per pixel, the same for all segments. Replaces `width` unless it is 0.
  bool lone = false;          ///< Also include blocks in no segment.
  std::vector<trace::block_id> marks{};  ///< Blocks whose places to return.
  friend bool operator==(const memory_map_question&, const memory_map_question&) = default;
  using answer_type = memory_map;
};

/// The blocks that are born or die at one moment.
struct memory_step {
  trace::time_ns since = 0;  ///< The time in the question.
  bool forward = true;
  trace::time_ns time = trace::unknown_time;  ///< unknown_time: there is no such moment.
  std::uint64_t born = 0;                     ///< Number of blocks born.
  std::uint64_t born_bytes = 0;
  std::uint64_t died = 0;
  std::uint64_t died_bytes = 0;
  trace::block_id block{};  ///< The largest of all these blocks.
};

/// Asks for the next moment at which a block is born or dies.
struct memory_step_question {
  trace::time_ns time = 0;
  bool forward = true;  ///< True: after `time`; false: before it.
  std::optional<trace::device_id> device{};
  friend bool operator==(const memory_step_question&, const memory_step_question&) = default;
  using answer_type = memory_step;
};

}  // namespace sluice::query
