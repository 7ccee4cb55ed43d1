#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/index/memory/memory_use.hpp"
#include "core/trace/model/mapping_flags.hpp"

namespace sluice::index {

/// True if the block is a piece of memory that the program mapped at an address of its choice.
[[nodiscard]] constexpr bool is_mapped_piece(const block_record& block) {
  return block.layer == trace::layer::driver &&
         (block.kind == trace::memory_kind::mapping || (block.flags & trace::mapped_piece) != 0);
}

/// Groups adjacent mappings into runs. A run is one contiguous segment. PyTorch's expandable segments and
/// virtual-memory pools grow by mapping more memory after their end, so a block in such a segment can span several
/// mappings.
class mapped_runs {
 public:
  /// `live`: positions in `blocks` of the blocks that are live at one moment. `blocks` must outlive this object. O(live
  /// * log live).
  mapped_runs(std::span<const block_record> blocks, std::span<const std::size_t> live);

  /// Returns the position of the first mapping in the run that contains the block at position `at`; `at` itself if the
  /// block is not a mapping. O(1).
  [[nodiscard]] std::size_t find_first(std::size_t at) const;
  /// Returns the size of the block at position `at`. For the first mapping of a run, returns the size of the whole run.
  /// O(1).
  [[nodiscard]] std::uint64_t get_bytes(std::size_t at) const;

 private:
  std::span<const block_record> blocks_;
  std::unordered_map<std::size_t, std::size_t> first_;
  std::unordered_map<std::size_t, std::uint64_t> bytes_;
};

/// False for reservations, which are addresses without memory, and for physical memory, which has no address.
[[nodiscard]] constexpr bool is_memory_at_an_address(trace::memory_kind kind) {
  return kind != trace::memory_kind::reservation && kind != trace::memory_kind::physical;
}

}  // namespace sluice::index
