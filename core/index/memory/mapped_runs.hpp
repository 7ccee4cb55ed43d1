#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/index/memory/memory_use.hpp"
#include "core/trace/model/mapping_flags.hpp"

namespace sluice::analysis {

/// True if a block is memory that the program mapped at an address of its choice, piece by piece.
[[nodiscard]] constexpr bool is_mapped_piece(const block_record& block) {
  return block.layer == trace::layer::driver &&
         (block.kind == trace::memory_kind::mapping || (block.flags & trace::mapped_piece) != 0);
}

/// Groups adjacent mappings into runs: a run is one contiguous segment. A segment that grows by mapping more memory
/// behind it (PyTorch's expandable segments, virtual-memory pools) can hold blocks that span several mappings.
class mapped_runs {
 public:
  /// `live`: positions in `blocks` of the blocks live at one moment. `blocks` must outlive this. O(live * log live).
  mapped_runs(std::span<const block_record> blocks, std::span<const std::size_t> live);

  /// Returns the position of the first mapping in the run of the block at `at`; `at` if the block is no mapping. O(1).
  [[nodiscard]] std::size_t first_of(std::size_t at) const;
  /// Returns the bytes that a block takes; for the first mapping of a run, the bytes of the whole run. O(1).
  [[nodiscard]] std::uint64_t bytes_of(std::size_t at) const;

 private:
  std::span<const block_record> blocks_;
  std::unordered_map<std::size_t, std::size_t> first_;
  std::unordered_map<std::size_t, std::uint64_t> bytes_;
};

/// True if blocks of this kind have memory at an address: reservations have no memory, physical memory has no address.
[[nodiscard]] constexpr bool is_memory_at_an_address(trace::memory_kind kind) {
  return kind != trace::memory_kind::reservation && kind != trace::memory_kind::physical;
}

}  // namespace sluice::analysis
