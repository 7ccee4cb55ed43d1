#include "core/metrics/findings/reserved/forced_growth.hpp"

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "core/base/saturating.hpp"
#include "core/index/memory/mapped_runs.hpp"
#include "core/metrics/findings/reserved/cache_use.hpp"

namespace sluice::metrics {
namespace {

/// True for blocks of PyTorch's allocator that are in a driver segment.
bool is_in_segment(const index::block_record& block) {
  return index::takes_device_memory(block) && block.layer == trace::layer::framework &&
         block.kind == trace::memory_kind::device && block.parent != trace::block_id::none;
}

/// The large segments of one allocator and the live blocks in them.
class arena {
 public:
  void add(const index::block_record& segment) {
    segments_[segment.address] = {segment.bytes, {}};
    held_ += segment.bytes;
  }
  void remove(const index::block_record& segment) {
    const auto found = segments_.find(segment.address);
    if (found == segments_.end()) return;
    for (const auto& [offset, block] : found->second.live) used_ -= block->reserved_bytes;
    held_ -= found->second.bytes;
    segments_.erase(found);
  }
  void take(const index::block_record& segment, const index::block_record& block) {
    const auto found = segments_.find(segment.address);
    if (found == segments_.end() || block.address < segment.address) return;
    if (found->second.live.try_emplace(block.address - segment.address, &block).second) used_ += block.reserved_bytes;
  }
  void give(const index::block_record& segment, const index::block_record& block) {
    const auto found = segments_.find(segment.address);
    if (found == segments_.end() || block.address < segment.address) return;
    const auto live = found->second.live.find(block.address - segment.address);
    if (live == found->second.live.end() || live->second != &block) return;
    used_ -= block.reserved_bytes;
    found->second.live.erase(live);
  }
  [[nodiscard]] std::uint64_t free() const { return held_ > used_ ? held_ - used_ : 0; }

  /// Sets the members of `growth` about holes and pins for a request of `of.asked` bytes. O(live blocks).
  void inspect(forced_growth& growth) const {
    growth.free = free();
    for (const auto& [address, segment] : segments_) {
      std::vector<std::pair<std::uint64_t, const index::block_record*>> live(segment.live.begin(), segment.live.end());
      const auto get_begin = [&, bytes = segment.bytes](std::size_t i) {
        return i < live.size() ? live[i].first : bytes;
      };
      const auto end_behind = [&, bytes = segment.bytes](std::size_t i) {
        return i == 0 ? 0 : std::min(bytes, live[i - 1].first + live[i - 1].second->reserved_bytes);
      };
      for (std::size_t i = 0; i <= live.size(); ++i)
        growth.largest_hole = std::max(growth.largest_hole, get_begin(i) - std::min(get_begin(i), end_behind(i)));
      // The blocks [first, behind) whose absence would leave a large enough hole, chosen to have the fewest bytes.
      std::size_t behind = 0;
      std::uint64_t bytes = 0;
      for (std::size_t first = 0; first < live.size(); ++first) {
        while (behind < live.size() &&
               get_begin(behind) - std::min(get_begin(behind), end_behind(first)) < growth.asked)
          bytes += live[behind++].second->reserved_bytes;
        if (get_begin(behind) - std::min(get_begin(behind), end_behind(first)) < growth.asked) break;
        if (behind > first && (growth.pins == 0 || bytes < growth.pinned_bytes)) {
          growth.pins = behind - first;
          growth.pinned_bytes = bytes;
          const auto largest = std::max_element(
              live.begin() + static_cast<std::ptrdiff_t>(first), live.begin() + static_cast<std::ptrdiff_t>(behind),
              [](const auto& a, const auto& b) { return a.second->bytes < b.second->bytes; });
          std::tie(growth.pin_stack, growth.largest_pin) = std::tie(largest->second->stack, largest->second->id);
        }
        if (behind > first) bytes -= live[first].second->reserved_bytes;
      }
    }
  }

 private:
  struct held {
    std::uint64_t bytes = 0;
    std::map<std::uint64_t, const index::block_record*> live;  ///< Indexed by offset in the segment.
  };
  std::map<std::uint64_t, held> segments_;  ///< Indexed by address.
  std::uint64_t held_ = 0;
  std::uint64_t used_ = 0;
};

struct change {
  time_ns time = 0;
  /// The order of events at the same time. Frees come first. Blocks are allocated after their segment and freed before
  /// it.
  enum : std::uint8_t { block_dies, segment_dies, segment_born, block_born } kind{};
  const index::block_record* segment = nullptr;
  const index::block_record* block = nullptr;
};

}  // namespace

void forced_growth_builder::add(const index::memory_use& use, time_range run) {
  const time_range here = intersect(scope_.range, run);
  if (here.length() > 0 && all_.size() < max_growths) find(use, here);
  for (forced_growth& each : all_) {
    const index::block_record* segment = each.died == latest_time ? use.find(each.segment) : nullptr;
    if (segment != nullptr && segment->freed() && run.holds(segment->died)) each.died = segment->died;
  }
}

void forced_growth_builder::find(const index::memory_use& use, time_range here) {
  // Large segments, each with the block for which the segment was allocated.
  std::unordered_map<const index::block_record*, const index::block_record*> segments;
  const auto get_segment = [&](const index::block_record& block) -> const index::block_record* {
    const index::block_record* segment = use.find(block.parent);
    if (segment == nullptr || !index::takes_device_memory(*segment) || index::is_mapped_piece(*segment)) return nullptr;
    return segment->bytes > small_segment ? segment : nullptr;
  };
  time_ns last = -latest_time;
  for (const index::block_record& block : use.blocks()) {
    const index::block_record* segment = is_in_segment(block) ? get_segment(block) : nullptr;
    if (segment == nullptr) continue;
    const index::block_record*& first = segments[segment];
    if (first == nullptr || block.born < first->born) first = &block;
    if (here.holds(segment->born) && !segment->born_before()) last = std::max(last, segment->born);
  }
  // Segments of earlier sections count, too, while no block is in them.
  for (const trace::block_id id : known_) {
    const index::block_record* segment = use.find(id);
    if (segment != nullptr && segment->live_in(here)) segments.try_emplace(segment, nullptr);
  }
  for (const auto& [segment, block] : segments) known_.insert(segment->id);
  std::erase_if(known_, [&](trace::block_id id) {
    const index::block_record* segment = use.find(id);
    return segment != nullptr && segment->freed() && here.holds(segment->died);
  });
  if (last == -latest_time) return;
  std::map<std::pair<trace::process_id, trace::device_id>, std::vector<change>> changes;
  for (const auto& [segment, block] : segments) {
    std::vector<change>& items = changes[{segment->process, segment->device}];
    if (segment->born <= last) items.push_back({segment->born, change::segment_born, segment, block});
    if (segment->freed() && segment->died <= last)
      items.push_back({segment->died, change::segment_dies, segment, nullptr});
  }
  for (const index::block_record& block : use.blocks()) {
    const index::block_record* segment = is_in_segment(block) && block.born <= last ? get_segment(block) : nullptr;
    if (segment == nullptr) continue;
    std::vector<change>& list = changes[{segment->process, segment->device}];
    list.push_back({block.born, change::block_born, segment, &block});
    if (block.freed() && block.died <= last) list.push_back({block.died, change::block_dies, segment, &block});
  }
  for (auto& [whose, subject] : changes) {
    std::sort(subject.begin(), subject.end(), [](const change& a, const change& b) {
      return std::tuple(a.time, a.kind, a.segment->id, a.block == nullptr ? trace::block_id{} : a.block->id) <
             std::tuple(b.time, b.kind, b.segment->id, b.block == nullptr ? trace::block_id{} : b.block->id);
    });
    arena memory;
    for (const change& each : subject) {
      switch (each.kind) {
        case change::block_born:
          memory.take(*each.segment, *each.block);
          break;
        case change::block_dies:
          memory.give(*each.segment, *each.block);
          break;
        case change::segment_dies:
          memory.remove(*each.segment);
          break;
        case change::segment_born: {
          const index::block_record& segment = *each.segment;
          if (each.block == nullptr) {
            memory.add(segment);
            break;
          }
          const index::block_record& first = *each.block;
          if (here.holds(segment.born) && !segment.born_before() && first.reserved_bytes > small_request &&
              memory.free() >= first.reserved_bytes && all_.size() < max_growths) {
            forced_growth growth;
            std::tie(growth.process, growth.device) = whose;
            std::tie(growth.segment, growth.segment_bytes, growth.time) =
                std::tie(segment.id, segment.bytes, segment.born);
            growth.died = latest_time;
            std::tie(growth.stack, growth.asked) = std::tie(first.stack, first.reserved_bytes);
            memory.inspect(growth);
            // If a hole was large enough, the growth has another cause. The hole then belongs to another stream, or to
            // a graph's own pool.
            if (growth.largest_hole < growth.asked) all_.push_back(growth);
          }
          memory.add(segment);
        }
      }
    }
  }
}

std::vector<forced_growths> forced_growth_builder::metrics(std::span<const cache_use> caches) const {
  std::vector<forced_growths> items;
  for (const cache_use& cache : caches) {
    if (cache.pool != trace::pool_id::none) continue;
    forced_growths growths;
    growths.device = cache.device;
    growths.reserved_maximum = cache.reserved_maximum;
    for (const forced_growth& each : all_) {
      if (each.device != cache.device || each.time > cache.reserved_time || each.died <= cache.reserved_time) continue;
      ++growths.count;
      saturating_add(growths.bytes, each.segment_bytes);
      if (each.segment_bytes > growths.largest.segment_bytes) growths.largest = each;
    }
    if (growths.count > 0) items.push_back(growths);
  }
  return items;
}

}  // namespace sluice::metrics
