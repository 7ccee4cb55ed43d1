#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "core/index/memory/memory_use.hpp"

/// Blocks that live over boundaries in time, each kept once, so that those that live at a boundary are found by reading little.
///
/// A centred interval tree (Edelsbrunner 1980) over the boundaries' numbers: a block is kept at the boundary that it crosses whose
/// number has the most trailing zeros. The blocks that cross boundary k are then kept at k itself, or at one of the few above it in
/// the tree, log2(boundaries) at most; and what is kept low in the tree spans little time.
namespace sluice::analysis {

/// Which of `sections` holds `time`, given their begins in order: the first one also what comes before it.
[[nodiscard]] std::size_t section_of(std::span<const time_ns> begins, time_ns time);

/// The boundary that keeps a block that is born in section `born` and dies in section `died` > `born`.
[[nodiscard]] std::uint32_t keeper_of(std::uint32_t born, std::uint32_t died);

/// The boundary that keeps a block if it crosses the begin of any section but the first: it was born before it, and dies at it, after it
/// or never. Of a block whose death no row tells, as it is inferred, the section of its birth, though it may cross none. None for
/// others. O(log sections).
[[nodiscard]] std::optional<std::uint32_t> keeper_of(const block_record& block, std::span<const time_ns> begins);

}  // namespace sluice::analysis
