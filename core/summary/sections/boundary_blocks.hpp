#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "core/index/memory/memory_use.hpp"

/// Assigns each block that crosses section boundaries to one of these boundaries, so that a reader quickly finds the
/// blocks that are live at a boundary.
///
/// This is a centered interval tree (Edelsbrunner 1980) over the numbers of boundaries. Among the boundaries that a
/// block crosses, the block is stored at the boundary whose number has the most trailing zeros. The blocks that cross
/// boundary k are stored at k or at one of the at most log2(boundaries) ancestors of k in the tree. Boundaries low in
/// the tree cover little time.
namespace sluice::summary {

/// Returns the section that contains `time`, given the sorted start times of the sections. Times before the first start
/// belong to the first section.
[[nodiscard]] std::size_t find_section(std::span<const time_ns> begins, time_ns time);

/// Returns the boundary at which to store a block that was allocated in section `born` and freed in section `died` >
/// `born`.
[[nodiscard]] std::uint32_t find_keeper(std::uint32_t born, std::uint32_t died);

/// Returns the boundary at which to store a block. Each section but the first starts at a boundary. A block crosses a
/// boundary if it was allocated before that time and is freed at that time, later, or never. A block that crosses no
/// boundary is stored at the section of its allocation if its free is inferred. Otherwise, it is not stored, and the
/// result is nothing. O(log sections).
[[nodiscard]] std::optional<std::uint32_t> find_keeper(const index::block_record& block,
                                                       std::span<const time_ns> begins);

}  // namespace sluice::summary
