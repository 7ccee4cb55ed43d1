#include "core/summary/sections/boundary_blocks.hpp"

#include <algorithm>
#include <bit>

namespace sluice::summary {

std::size_t find_section(std::span<const time_ns> begins, time_ns time) {
  const auto next = std::upper_bound(begins.begin(), begins.end(), time);
  return next == begins.begin() ? 0 : static_cast<std::size_t>(next - begins.begin()) - 1;
}

std::uint32_t find_keeper(std::uint32_t born, std::uint32_t died) {
  // All numbers in (born, died] have the same bits above the highest bit in which `born` and `died` differ. Among the
  // numbers that have this bit set, take the number in which all lower bits are zero.
  const unsigned below = 31U - static_cast<unsigned>(std::countl_zero(born ^ died));
  return died >> below << below;
}

std::optional<std::uint32_t> find_keeper(const index::block_record& block, std::span<const time_ns> begins) {
  if (begins.empty()) return std::nullopt;
  const auto born = static_cast<std::uint32_t>(find_section(begins, block.born));
  const auto died = static_cast<std::uint32_t>(block.freed() ? find_section(begins, block.died) : begins.size() - 1);
  if (born < died) return find_keeper(born, died);
  return block.death_inferred ? std::optional(born) : std::nullopt;
}

}  // namespace sluice::summary
