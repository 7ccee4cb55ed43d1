#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/analysis/categories.hpp"
#include "core/analysis/time_range.hpp"
#include "core/trace/model.hpp"

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
  analysis::block_category category;
  friend bool operator==(const address_item& a, const address_item& b) {
    return a.address == b.address && a.bytes == b.bytes && a.used == b.used && a.count == b.count && a.block == b.block;
  }
};

/// A block with the blocks inside it.
struct address_segment {
  trace::block_id block{};
  trace::device_id device{};
  trace::process_id process{};
  trace::layer level = trace::layer::driver;
  trace::memory_kind kind = trace::memory_kind::unknown;
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  std::uint64_t used = 0;          ///< By blocks; what two of them claim counts once.
  std::uint64_t largest_hole = 0;  ///< Bytes of the longest run that no block takes.
  std::uint64_t blocks = 0;
  std::vector<address_item> items;  ///< In order of address; what lies between two is free.

  /// 1 - largest hole / free; 0 where nothing is free.
  [[nodiscard]] double fragmentation() const {
    return used >= bytes ? 0 : 1 - static_cast<double>(largest_hole) / static_cast<double>(bytes - used);
  }
};

struct address_map {
  trace::time_ns time = 0;
  std::vector<address_segment> segments;  ///< By device and address; at most `segment_limit`, the largest ones.
  std::uint64_t count = 0;                ///< Of all segments.

  static constexpr std::size_t segment_limit = 4096;
};

/// A segment is a block of a lower layer that others name as the one they lie in (`block_record::parent`), or that holds the
/// addresses of a live block of its process and device that names none.
struct address_map_question {
  trace::time_ns time = 0;
  std::optional<trace::device_id> device{};
  trace::block_id segment{};  ///< Only this one; none: all that hold live blocks.
  std::uint32_t width = 0;    ///< Pixels that a segment is drawn on: it has at most twice as many items.
  friend bool operator==(const address_map_question&, const address_map_question&) = default;
  using answer_type = address_map;
};

}  // namespace sluice::query
