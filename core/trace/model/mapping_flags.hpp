#pragma once

#include <cstdint>

/// Bits of `alloc_event::flags` beside those of `alloc_flag`, for memory that a program maps piece by piece (PyTorch's expandable segments).
namespace sluice::trace {

enum mapping_flag : std::uint64_t {
  /// Mapped to an address that the program chose: what is mapped beside it belongs to the same segment, and blocks may lie across both.
  mapped_piece = 64,
  /// What lives on of a block of which a part was given back at that moment. It was allocated with that block: it is no allocation of its
  /// own, and its bytes were not freed.
  rest_of_block = 128,
};

}  // namespace sluice::trace
