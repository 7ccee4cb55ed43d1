#include "core/figures/fragmentation.hpp"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "core/index/memory/mapped_runs.hpp"

namespace sluice::analysis {
namespace {

/// Adds the gaps between `children` (offset, length) in a segment of `bytes`.
void add_holes(std::vector<std::pair<std::uint64_t, std::uint64_t>>& children, std::uint64_t bytes,
               fragmentation_figure& into) {
  std::sort(children.begin(), children.end());
  std::uint64_t end_of_used = 0;
  const auto hole = [&](std::uint64_t from, std::uint64_t to) {
    if (to <= from) return;
    into.free_bytes += to - from;
    into.largest_free = std::max(into.largest_free, to - from);
  };
  for (const auto& [offset, length] : children) {
    if (offset >= bytes) break;
    hole(end_of_used, offset);
    end_of_used = std::max(end_of_used, offset + std::min(length, bytes - offset));
  }
  hole(end_of_used, bytes);
}

}  // namespace

void fragmentation_builder::add(const memory_use& from, time_range run) {
  // Consecutive blocks mostly lie in the same segment.
  memory_key last_key;
  trace::block_id last{};
  for (const block_record& block : from.blocks()) {
    if (!block.allocated || block.layer == trace::layer::driver || !run.holds(block.born)) continue;
    const memory_key key{block.device, block.layer, block.kind};
    if (block.parent == trace::block_id::none || (block.parent == last && key == last_key)) continue;
    parents_[key].insert(block.parent);
    last_key = key;
    last = block.parent;
  }
}

std::optional<fragmentation_figure> fragmentation_builder::at(const memory_peak& peak, const memory_use& from) const {
  const memory_key key{peak.device, peak.layer, peak.kind};
  const auto parents = parents_.find(key);
  if (parents == parents_.end()) return std::nullopt;
  const std::span<const block_record> blocks = from.blocks();
  std::vector<std::size_t> mappings;
  for (std::size_t i = 0; i < blocks.size(); ++i)
    if (is_mapped_piece(blocks[i]) && blocks[i].allocated && blocks[i].live_at(peak.time)) mappings.push_back(i);
  const mapped_runs runs(blocks, mappings);
  std::map<std::size_t, std::vector<std::pair<std::uint64_t, std::uint64_t>>> segments;
  const auto first_of = [&](const block_record& segment) {
    return runs.first_of(static_cast<std::size_t>(&segment - blocks.data()));
  };
  for (const trace::block_id parent : parents->second) {
    const block_record* segment = from.find(parent);
    if (segment != nullptr && segment->live_at(peak.time)) segments.try_emplace(first_of(*segment));
  }
  if (segments.empty()) return std::nullopt;
  for (const block_record& block : blocks) {
    if (!block.allocated || memory_key{block.device, block.layer, block.kind} != key || !block.live_at(peak.time))
      continue;
    const block_record* segment = from.find(block.parent);
    if (segment == nullptr || !segment->live_at(peak.time)) continue;
    // If addresses contradict the parents, holes cannot be computed.
    if (block.address < segment->address || block.address - segment->address >= segment->bytes) return std::nullopt;
    const std::size_t first = first_of(*segment);
    segments[first].emplace_back(block.address - blocks[first].address, block.reserved_bytes);
  }
  fragmentation_figure figure;
  figure.device = peak.device;
  figure.layer = peak.layer;
  figure.time = peak.time;
  for (auto& [at, children] : segments) {
    const std::uint64_t bytes = is_mapped_piece(blocks[at]) ? runs.bytes_of(at) : blocks[at].bytes;
    ++figure.segments;
    figure.segment_bytes += bytes;
    add_holes(children, bytes, figure);
  }
  if (figure.free_bytes > 0)
    figure.fragmentation = 1 - static_cast<double>(figure.largest_free) / static_cast<double>(figure.free_bytes);
  return figure;
}

}  // namespace sluice::analysis
