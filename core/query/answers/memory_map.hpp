#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/index/memory/categories.hpp"
#include "core/timeline/time_range.hpp"
#include "core/trace/model/model.hpp"

/// How memory lies at a moment: the segments, and which blocks are where in them.
namespace sluice::query {

/// A block as drawn, or several neighbours that share a pixel with the holes between them.
struct address_item {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;  ///< From the first byte to the last; of one block what it takes in the segment.
  std::uint64_t used = 0;   ///< Of those, the bytes that lie in blocks.
  std::uint32_t count = 1;  ///< Blocks.
  trace::block_id block{};  ///< The block, or the largest of several; what follows is of that one.
  trace::stack_id stack{};
  trace::string_id name{};
  trace::layer layer = trace::layer::driver;
  trace::time_ns born = 0;
  analysis::block_category category;
  friend bool operator==(const address_item& a, const address_item& b) {
    return a.address == b.address && a.bytes == b.bytes && a.used == b.used && a.count == b.count && a.block == b.block;
  }
};

/// What segments have in common that stand together, and what they add up to. Layers lie inside one another, so groups do not.
struct address_totals {
  std::uint64_t bytes = 0;
  std::uint64_t used = 0;          ///< By blocks; what two of them claim counts once.
  std::uint64_t largest_hole = 0;  ///< Bytes of the longest run that no block takes.
  std::uint64_t blocks = 0;

  /// 1 - largest hole / free; 0 where nothing is free.
  [[nodiscard]] double fragmentation() const {
    return used >= bytes ? 0 : 1 - static_cast<double>(largest_hole) / static_cast<double>(bytes - used);
  }
};

struct address_group : address_totals {  // The longest hole is that of any segment.
  trace::device_id device{};
  trace::process_id process{};
  trace::layer layer = trace::layer::driver;
  bool lone = false;
  std::uint64_t segments = 0;
};

/// A block with the blocks inside it.
struct address_segment : address_totals {
  trace::block_id block{};
  std::size_t group = 0;  ///< In `memory_map::groups`.
  trace::device_id device{};
  trace::process_id process{};
  trace::layer layer = trace::layer::driver;
  trace::memory_kind kind = trace::memory_kind::unknown;
  bool lone = false;  ///< A block that lies in none and never holds any: it is its own only item.
  std::uint64_t address = 0;
  std::vector<address_item> items;  ///< In order of address; what lies between two is free.
};

struct memory_map {
  trace::time_ns time = 0;
  std::vector<address_group> groups;  ///< By device and process, layers from below; of lone blocks after the others.
  std::vector<address_segment> segments;  ///< By group and address; at most `segment_limit`, the largest ones.
  std::uint64_t count = 0;                ///< Of all segments.

  /// Where a block lies that was asked for; of one that is dead or not yet born, where in a segment of this moment it did or will.
  struct place {
    trace::block_id block{};
    trace::block_id segment{};
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    bool live = false;
  };
  std::vector<place> marked;  ///< As far as they have one, in the order asked.

  static constexpr std::size_t segment_limit = 4096;
};

/// A segment is a block of a lower layer that others name as the one they lie in (`block_record::parent`), now or at any other time,
/// or that holds the addresses of a live block of its process and device that names none. Mappings side by side are one segment, named
/// after the first; reservations are no memory, and physical memory has no address.
struct memory_map_question {
  trace::time_ns time = 0;
  std::optional<trace::device_id> device{};
  trace::block_id segment{};  ///< Only this one; none: all of them.
  std::uint32_t width = 0;    ///< Pixels that a segment is drawn on: it has at most twice as many items.
  std::uint64_t pixel = 0;    ///< Or the bytes of a pixel, the same for all segments: instead of `width` if not 0.
  bool lone = false;          ///< Blocks in no segment are wanted too.
  std::vector<trace::block_id> marks{};  ///< Blocks whose places are wanted.
  friend bool operator==(const memory_map_question&, const memory_map_question&) = default;
  using answer_type = memory_map;
};

/// What happened to memory at one moment.
struct memory_step {
  trace::time_ns since = 0;  ///< What was asked.
  bool forward = true;
  trace::time_ns time = trace::unknown_time;  ///< unknown_time: nothing before, or after.
  std::uint64_t born = 0;                     ///< Blocks.
  std::uint64_t born_bytes = 0;
  std::uint64_t died = 0;
  std::uint64_t died_bytes = 0;
  trace::block_id block{};  ///< The largest of them.
};

/// The next moment at which a block is born or dies.
struct memory_step_question {
  trace::time_ns time = 0;
  bool forward = true;  ///< After `time`; else before it.
  std::optional<trace::device_id> device{};
  friend bool operator==(const memory_step_question&, const memory_step_question&) = default;
  using answer_type = memory_step;
};

}  // namespace sluice::query
