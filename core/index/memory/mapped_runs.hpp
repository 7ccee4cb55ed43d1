#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/index/memory/memory_use.hpp"
#include "core/trace/model/mapping_flags.hpp"

namespace sluice::analysis {

/// Whether a block is memory that was mapped to an address of the program's choice, piece by piece.
[[nodiscard]] constexpr bool is_mapped_piece(const block_record& block) {
  return block.layer == trace::layer::driver &&
         (block.kind == trace::memory_kind::mapping || (block.flags & trace::mapped_piece) != 0);
}

/// Mappings that lie side by side are one stretch of memory: who grows a segment by mapping more behind it (PyTorch's expandable
/// segments, pools of virtual memory) lets blocks lie across them.
class mapped_runs {
 public:
  /// `live`: places in `blocks`, which outlives this, of what is live at one moment. O(live * log live).
  mapped_runs(std::span<const block_record> blocks, std::span<const std::size_t> live);

  /// The first mapping of the run that the block at this place belongs to; the place itself of what is no mapping. O(1).
  [[nodiscard]] std::size_t first_of(std::size_t at) const;
  /// Bytes that a block takes, and those of all of its run if it is the first of one. O(1).
  [[nodiscard]] std::uint64_t bytes_of(std::size_t at) const;

 private:
  std::span<const block_record> blocks_;
  std::unordered_map<std::size_t, std::size_t> first_;
  std::unordered_map<std::size_t, std::uint64_t> bytes_;
};

/// Whether the block's address says where memory is: a reservation is addresses without any, and physical memory has only a handle.
[[nodiscard]] constexpr bool is_memory_at_an_address(trace::memory_kind kind) {
  return kind != trace::memory_kind::reservation && kind != trace::memory_kind::physical;
}

}  // namespace sluice::analysis
