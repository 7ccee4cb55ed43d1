#include "core/metrics/findings/growth/growth.hpp"

#include <algorithm>

#include "core/base/saturating.hpp"
#include "core/index/event_store.hpp"
#include "core/index/memory/block_ends.hpp"
#include "core/metrics/base/octile_coverage.hpp"

namespace sluice::metrics {
namespace {

bool is_looked_at(const index::block_record& block, time_range range) {
  return block.allocated && !block.imported() && !block.born_before() && !block.freed_after() &&
         range.holds(block.born) && (index::is_device_resident(block.kind) || block.kind == trace::memory_kind::pinned);
}

/// Returns the bytes in use of the block's kind of memory just before the block was allocated.
double in_use_before(const index::block_record& block, const index::event_store& store) {
  const auto use = store.memory().use().find(index::get_key(block));
  return use == store.memory().use().end() ? 0 : use->second.at(block.born) - static_cast<double>(block.bytes);
}

/// Blocks freed in the last 50th of the active time count as live, because a program frees everything when it exits.
constexpr time_ns last_part = 50;

}  // namespace

void growth_builder::add(const index::event_store& store, time_range run) {
  const time_range here = intersect(scope_.range, run);
  // The active time extends at least to the allocation of the newest block, so blocks freed earlier than this do not
  // count.
  time_ns newest = scope_.range.begin;
  for (const index::block_record& block : store.memory().blocks())
    if (is_looked_at(block, scope_.range)) newest = std::max(newest, block.born);
  const time_ns late = newest - (newest - scope_.range.begin) / last_part;
  for (const index::block_record& block : store.memory().blocks()) {
    if (!is_looked_at(block, scope_.range)) continue;
    const bool ends = index::ends_in(block, run);
    // A block freed after `late` counts as kept, because programs free everything when they exit.
    const time_ns died = block.freed() ? block.died : latest_time;
    const bool kept = died >= late;
    if (run.holds(block.born)) {
      if (ends && !kept) continue;
      const progress before{kernels_ + store.touches().kernels_in({here.begin, block.born}),
                            in_use_before(block, store)};
      if (ends)
        add(block, died, before);
      else
        live_.emplace(raw(block.id), before);
    } else if (ends) {
      const auto before = live_.find(raw(block.id));
      if (before == live_.end()) continue;
      if (kept) add(block, died, before->second);
      live_.erase(before);
    }
  }
  kernels_ += store.touches().kernels_in(here);
  for (const auto& [key, use] : store.memory().use()) in_use_at_end_[key] = use.at(here.end);
  for (auto& [origin, births] : all_) std::erase_if(births, [=](const birth& each) { return each.died < late; });
  std::erase_if(all_, [](const auto& subject) { return subject.second.empty(); });
}

void growth_builder::add(const index::block_record& block, time_ns died, const progress& before) {
  std::vector<birth>& births = all_[{index::get_key(block), block.process, block.stack, block.name}];
  if (births.size() < max_births)
    births.push_back({block.born, died, block.bytes, block.id, before.kernels, before.in_use});
}

bool growth_builder::goes_on_as_before(const index::memory_key& memory, const birth& first) const {
  const auto at_end = in_use_at_end_.find(memory);
  return first.in_use > 0 && at_end != in_use_at_end_.end() && at_end->second * 2 >= first.in_use;
}

std::vector<growing_group> growth_builder::metrics(time_range active) const {
  std::vector<growing_group> groups;
  // Blocks that are live after most of the work count as kept, because a program frees everything at the very end.
  const time_ns late = active.end - active.length() / last_part;
  // If little happens at the end of a range, blocks freed in the first half of the range still do not count as kept.
  const time_ns middle = scope_.range.end - scope_.range.length() / 2;
  const auto earlier = [](const birth* a, const birth* b) {
    return std::tie(a->time, a->block) < std::tie(b->time, b->block);
  };
  for (const auto& [source, births] : all_) {
    growing_group group;
    std::vector<const birth*> kept;
    for (const birth& each : births)
      if (each.died >= std::max(late, middle) && each.time < late) kept.push_back(&each);
    if (kept.size() < min_blocks) continue;
    const auto earliest = *std::min_element(kept.begin(), kept.end(), earlier);
    if (goes_on_as_before(std::get<index::memory_key>(source), *earliest))
      std::erase_if(kept, [](const birth* each) { return each->died != latest_time; });
    if (kept.size() < min_blocks) continue;
    // If several blocks were allocated at the same time, the lowest id counts, so that the order of their ends does not
    // matter.
    std::sort(kept.begin(), kept.end(), earlier);
    const birth* first = kept.front();
    const birth* last = *std::lower_bound(kept.begin(), kept.end(), kept.back()->time,
                                          [](const birth* a, time_ns time) { return a->time < time; });
    const auto progress = [&](const birth& of_one) {
      return kernels_ > 0 ? static_cast<double>(of_one.kernels) : static_cast<double>(of_one.time - active.begin);
    };
    const double all_work = kernels_ > 0 ? static_cast<double>(kernels_) : static_cast<double>(active.length());
    const double work = all_work - progress(*first);
    if (work < all_work / 2) continue;
    octile_coverage spread;
    for (const birth* each : kept) {
      saturating_add(group.bytes, each->bytes);
      spread.mark((progress(*each) - progress(*first)) / std::max(work, 1.0));
    }
    // The last eighth may have no allocation, because the program may do something else at the end.
    if (!spread.all_but_the_last()) continue;
    index::memory_key key;
    std::tie(key, group.process, group.stack, group.name) = source;
    group.device = key.device;
    group.layer = key.layer;
    group.kind = key.kind;
    group.blocks = kept.size();
    group.first = first->time;
    group.last = last->time;
    group.newest = last->block;
    groups.push_back(group);
  }
  std::stable_sort(groups.begin(), groups.end(), [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  if (groups.size() > limit) groups.resize(limit);
  return groups;
}

}  // namespace sluice::metrics
