#include "core/index/memory/mapped_runs.hpp"

#include <algorithm>
#include <tuple>

namespace sluice::index {
namespace {

std::uint64_t taken_by(const block_record& block) { return std::max(block.bytes, block.reserved_bytes); }

}  // namespace

mapped_runs::mapped_runs(std::span<const block_record> blocks, std::span<const std::size_t> live) : blocks_(blocks) {
  std::vector<std::size_t> mappings;
  for (const std::size_t at : live)
    if (is_mapped_piece(blocks[at])) mappings.push_back(at);
  // Identifies the reservation of a mapping or, if that is unknown, its pool. Adjacent mappings belong to the same
  // segment only if these are the same.
  const auto segment = [&](std::size_t at) {
    const block_record& b = blocks[at];
    return std::tuple(b.process, b.device, b.kind, b.parent, b.pool, b.stream);
  };
  const auto order = [&](std::size_t at) { return std::tuple(segment(at), blocks[at].address, blocks[at].id); };
  std::sort(mappings.begin(), mappings.end(), [&](std::size_t a, std::size_t b) { return order(a) < order(b); });
  for (std::size_t i = 0; i < mappings.size(); ++i) {
    const block_record& block = blocks[mappings[i]];
    std::size_t first = mappings[i];
    if (i > 0) {
      const std::size_t before = first_.at(mappings[i - 1]);
      const block_record& begin = blocks[before];
      if (segment(before) == segment(mappings[i]) && block.address - begin.address == bytes_.at(before)) first = before;
    }
    first_.emplace(mappings[i], first);
    bytes_[first] += taken_by(block);
  }
}

std::size_t mapped_runs::find_first(std::size_t at) const {
  const auto known = first_.find(at);
  return known == first_.end() ? at : known->second;
}

std::uint64_t mapped_runs::get_bytes(std::size_t at) const {
  const auto known = bytes_.find(at);
  return known == bytes_.end() ? taken_by(blocks_[at]) : known->second;
}

}  // namespace sluice::index
