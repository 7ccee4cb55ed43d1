#pragma once

#include <cstdint>

/// Additional bits of `alloc_event::flags`, for memory that a program maps piece by piece, as PyTorch's expandable
/// segments do.
namespace sluice::trace {

enum mapping_flag : std::uint64_t {
  /// Memory mapped at an address that the program chose. Adjacent pieces form one segment; a block may span several
  /// pieces.
  mapped_piece = 64,
  /// The rest of a block, after another part of the block was freed at the time of this event. The rest was allocated
  /// together with that part and stays allocated, so this event is not a new allocation.
  rest_of_block = 128,
};

}  // namespace sluice::trace
