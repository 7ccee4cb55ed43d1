#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "core/index/memory/memory_use.hpp"

/// Assigns each block that crosses section boundaries to one boundary; so blocks live at a boundary are found fast.
///
/// This is a centered interval tree (Edelsbrunner 1980) over boundary numbers: a block is stored at the boundary it
/// crosses whose number has the most trailing zeros. The blocks that cross boundary k are stored at k or at one of its
/// at most log2(boundaries) ancestors in the tree. Boundaries low in the tree cover little time.
namespace sluice::analysis {

/// The section that contains `time`, given the sections' starts in order. Times before the first belong to the first.
[[nodiscard]] std::size_t section_of(std::span<const time_ns> begins, time_ns time);

/// The boundary at which to store a block that is born in section `born` and dies in section `died` > `born`.
[[nodiscard]] std::uint32_t keeper_of(std::uint32_t born, std::uint32_t died);

/// The boundary at which a block is stored if it crosses the start of any section but the first: it was born before
/// that time, and dies at that time, later, or never. A block with an inferred death that crosses no boundary is stored
/// at its birth section. Returns nothing for other blocks. O(log sections).
[[nodiscard]] std::optional<std::uint32_t> keeper_of(const block_record& block, std::span<const time_ns> begins);

}  // namespace sluice::analysis
