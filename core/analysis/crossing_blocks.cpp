#include "core/analysis/crossing_blocks.hpp"

#include <algorithm>
#include <bit>
#include <tuple>

namespace sluice::analysis {

std::size_t epoch_of(std::span<const time_ns> begins, time_ns time) {
  const auto next = std::upper_bound(begins.begin(), begins.end(), time);
  return next == begins.begin() ? 0 : static_cast<std::size_t>(next - begins.begin()) - 1;
}

std::uint32_t keeper_of(std::uint32_t born, std::uint32_t died) {
  // All numbers in (born, died] share the bits above the highest in which the two differ; of those with that bit, the one with
  // nothing below it.
  const unsigned below = 31U - static_cast<unsigned>(std::countl_zero(born ^ died));
  return died >> below << below;
}

std::vector<crossing> crossing_blocks(const memory_use& memory, std::span<const time_ns> begins) {
  std::vector<crossing> all;
  if (begins.empty()) return all;
  const auto last = static_cast<std::uint32_t>(begins.size() - 1);
  const std::span<const block_record> blocks = memory.blocks();
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const block_record& block = blocks[i];
    if (!block.allocated) continue;
    const auto born = static_cast<std::uint32_t>(epoch_of(begins, block.born));
    const auto died = block.freed() ? static_cast<std::uint32_t>(epoch_of(begins, block.died)) : last;
    if (born < died) {
      all.push_back({i, keeper_of(born, died)});
    } else if (block.death_inferred) {
      all.push_back({i, born});
    }
  }
  std::sort(all.begin(), all.end(), [&](const crossing& a, const crossing& b) {
    const auto order = [&](const crossing& c) {
      return std::tuple(-std::countr_zero(c.boundary), c.boundary, blocks[c.block].born, c.block);
    };
    return order(a) < order(b);
  });
  return all;
}

}  // namespace sluice::analysis
