#pragma once

#include <cstdint>

/// More bits of `alloc_event::flags`, for memory that a program maps piece by piece (PyTorch's expandable segments).
namespace sluice::trace {

enum mapping_flag : std::uint64_t {
  /// Memory mapped at an address that the program chose. Adjacent pieces form one segment, and blocks may span several.
  mapped_piece = 64,
  /// The remaining part of a block of which another part was given back at the time of this event. The remaining bytes
  /// were allocated with that block and are not freed, so this event is no new allocation.
  rest_of_block = 128,
};

}  // namespace sluice::trace
