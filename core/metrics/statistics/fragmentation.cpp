#include "core/metrics/statistics/fragmentation.hpp"

#include <algorithm>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "core/index/memory/mapped_runs.hpp"

namespace sluice::metrics {
void fragmentation_builder::add(const index::memory_use& use, time_range run) {
  // Consecutive blocks are usually in the same segment.
  index::memory_key last_key;
  trace::block_id last{};
  for (const index::block_record& block : use.blocks()) {
    if (!block.allocated || block.layer == trace::layer::driver || !run.holds(block.born)) continue;
    const index::memory_key key{block.device, block.layer, block.kind};
    if (block.parent == trace::block_id::none || (block.parent == last && key == last_key)) continue;
    parents_[key].insert(block.parent);
    last_key = key;
    last = block.parent;
  }
}

std::vector<segment_layout> fragmentation_builder::segments_at(const index::memory_key& key, time_ns time,
                                                               const index::memory_use& use) const {
  const auto parents = parents_.find(key);
  if (parents == parents_.end()) return {};
  const std::span<const index::block_record> blocks = use.blocks();
  std::vector<std::size_t> mappings;
  for (std::size_t i = 0; i < blocks.size(); ++i)
    if (index::is_mapped_piece(blocks[i]) && blocks[i].allocated && blocks[i].live_at(time)) mappings.push_back(i);
  const index::mapped_runs runs(blocks, mappings);
  std::map<std::size_t, std::vector<segment_layout::piece>> segments;
  const auto find_first = [&](const index::block_record& segment) {
    return runs.find_first(static_cast<std::size_t>(&segment - blocks.data()));
  };
  for (const trace::block_id parent : parents->second) {
    const index::block_record* segment = use.find(parent);
    if (segment != nullptr && segment->live_at(time)) segments.try_emplace(find_first(*segment));
  }
  for (std::size_t i = 0; i < blocks.size() && !segments.empty(); ++i) {
    const index::block_record& block = blocks[i];
    if (!block.allocated || index::get_key(block) != key || !block.live_at(time)) continue;
    const index::block_record* segment = use.find(block.parent);
    if (segment == nullptr || !segment->live_at(time)) continue;
    // If a block's address is not inside its parent, holes cannot be computed.
    if (block.address < segment->address || block.address - segment->address >= segment->bytes) return {};
    const std::size_t first = find_first(*segment);
    segments[first].push_back({block.address - blocks[first].address, block.reserved_bytes, i});
  }
  std::vector<segment_layout> layouts;
  layouts.reserve(segments.size());
  for (auto& [at, pieces] : segments) {
    const bool mapped = index::is_mapped_piece(blocks[at]);
    std::sort(pieces.begin(), pieces.end(), [](const auto& a, const auto& b) {
      return std::tuple(a.offset, a.bytes, a.block) < std::tuple(b.offset, b.bytes, b.block);
    });
    layouts.push_back({at, mapped ? runs.get_bytes(at) : blocks[at].bytes, mapped, std::move(pieces)});
  }
  return layouts;
}

std::optional<fragmentation_metric> fragmentation_builder::at(const memory_peak& peak,
                                                              const index::memory_use& use) const {
  const std::vector<segment_layout> segments = segments_at({peak.device, peak.layer, peak.kind}, peak.time, use);
  if (segments.empty()) return std::nullopt;
  fragmentation_metric metric;
  metric.device = peak.device;
  metric.layer = peak.layer;
  metric.time = peak.time;
  for (const segment_layout& segment : segments) {
    ++metric.segments;
    metric.segment_bytes += segment.bytes;
    visit_holes(segment, [&](std::uint64_t /*offset*/, std::uint64_t bytes) {
      metric.free_bytes += bytes;
      metric.largest_free = std::max(metric.largest_free, bytes);
    });
  }
  if (metric.free_bytes > 0)
    metric.fragmentation = 1 - static_cast<double>(metric.largest_free) / static_cast<double>(metric.free_bytes);
  return metric;
}

}  // namespace sluice::metrics
