#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/analysis/memory_use.hpp"

/// Blocks that live over boundaries in time, each kept once, so that those that live at a boundary are found by reading little.
///
/// A centred interval tree (Edelsbrunner 1980) over the boundaries' numbers: a block is kept at the boundary that it crosses whose
/// number has the most trailing zeros. The blocks that cross boundary k are then kept at k itself, or at one of the few above it in
/// the tree, log2(boundaries) at most; and what is kept low in the tree spans little time.
namespace sluice::analysis {

struct crossing {
  std::size_t block = 0;       ///< Its position in `memory_use::blocks()`.
  std::uint32_t boundary = 0;  ///< That keeps it, counted from 1: the begin of the epoch of that number.
};

/// Which of `epochs` holds `time`, given their begins in order: the first one also what comes before it.
[[nodiscard]] std::size_t epoch_of(std::span<const time_ns> begins, time_ns time);

/// The boundary that keeps a block that is born in epoch `born` and dies in epoch `died` > `born`.
[[nodiscard]] std::uint32_t keeper_of(std::uint32_t born, std::uint32_t died);

/// The blocks that cross the begin of any epoch but the first: born before it, and dying at it, after it or never. Among them, at the
/// begin of its epoch, one whose death no row tells, as it is inferred, though it crosses none. The ones kept high in the tree
/// first, then by boundary and birth. O(blocks * log epochs).
[[nodiscard]] std::vector<crossing> crossing_blocks(const memory_use& memory, std::span<const time_ns> begins);

}  // namespace sluice::analysis
