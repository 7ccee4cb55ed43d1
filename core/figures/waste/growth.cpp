#include "core/figures/waste/growth.hpp"

#include <algorithm>

#include "core/base/saturating.hpp"
#include "core/figures/waste/eighths.hpp"
#include "core/index/index.hpp"
#include "core/index/memory/block_ends.hpp"

namespace sluice::analysis {
namespace {

bool is_looked_at(const block_record& block, time_range range) {
  return block.allocated && !block.imported() && !block.born_before() && !block.freed_after() &&
         range.holds(block.born) && (is_device_resident(block.kind) || block.kind == trace::memory_kind::pinned);
}

/// Bytes of the block's memory in use just before its birth.
double in_use_before(const block_record& block, const index& from) {
  const auto use = from.memory().use().find(key_of(block));
  return use == from.memory().use().end() ? 0 : use->second.at(block.born) - static_cast<double>(block.bytes);
}

/// What is freed in the last 50th of the active time counts as kept: a program frees everything when it ends.
constexpr time_ns last_part = 50;

}  // namespace

void growth_builder::add(const index& from, time_range run) {
  const time_range here = common_of(scope_.range, run);
  // The active time ends no earlier than the newest block is born, so what is freed before this does not count.
  time_ns newest = scope_.range.begin;
  for (const block_record& block : from.memory().blocks())
    if (is_looked_at(block, scope_.range)) newest = std::max(newest, block.born);
  const time_ns late = newest - (newest - scope_.range.begin) / last_part;
  for (const block_record& block : from.memory().blocks()) {
    if (!is_looked_at(block, scope_.range)) continue;
    const bool ends = ends_in(block, run);
    // Programs free what they kept when they end.
    const time_ns died = block.freed() ? block.died : latest_time;
    const bool kept = died >= late;
    if (run.holds(block.born)) {
      if (ends && !kept) continue;
      const progress before{kernels_ + from.touches().kernels_in({here.begin, block.born}), in_use_before(block, from)};
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
  kernels_ += from.touches().kernels_in(here);
  for (const auto& [key, use] : from.memory().use()) in_use_at_end_[key] = use.at(here.end);
  for (auto& [origin, births] : all_) std::erase_if(births, [=](const birth& each) { return each.died < late; });
  std::erase_if(all_, [](const auto& of) { return of.second.empty(); });
}

void growth_builder::add(const block_record& block, time_ns died, const progress& before) {
  std::vector<birth>& births = all_[{key_of(block), block.process, block.stack, block.name}];
  if (births.size() < most_births)
    births.push_back({block.born, died, block.bytes, block.id, before.kernels, before.in_use});
}

bool growth_builder::goes_on_as_before(const memory_key& memory, const birth& first) const {
  const auto at_end = in_use_at_end_.find(memory);
  return first.in_use > 0 && at_end != in_use_at_end_.end() && at_end->second * 2 >= first.in_use;
}

std::vector<growing_group> growth_builder::figures(time_range active) const {
  std::vector<growing_group> all;
  // What is live after most of the work was kept; at the very end a program frees everything.
  const time_ns late = active.end - active.length() / last_part;
  // Of a range in which little happens at last, what dies in the first half was not kept.
  const time_ns middle = scope_.range.end - scope_.range.length() / 2;
  const auto earlier = [](const birth* a, const birth* b) {
    return std::tie(a->time, a->block) < std::tie(b->time, b->block);
  };
  for (const auto& [from, births] : all_) {
    growing_group of;
    std::vector<const birth*> kept;
    for (const birth& each : births)
      if (each.died >= std::max(late, middle) && each.time < late) kept.push_back(&each);
    if (kept.size() < least_blocks) continue;
    const auto earliest = *std::min_element(kept.begin(), kept.end(), earlier);
    if (goes_on_as_before(std::get<memory_key>(from), *earliest))
      std::erase_if(kept, [](const birth* each) { return each->died != latest_time; });
    if (kept.size() < least_blocks) continue;
    // Of two born at one time the lower id counts, in whatever order they ended.
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
    eighths spread;
    for (const birth* each : kept) {
      saturating_add(of.bytes, each->bytes);
      spread.mark((progress(*each) - progress(*first)) / std::max(work, 1.0));
    }
    // The end may be without: the program may do something else at last.
    if (!spread.all_but_the_last()) continue;
    memory_key key;
    std::tie(key, of.process, of.stack, of.name) = from;
    of.device = key.device;
    of.layer = key.layer;
    of.kind = key.kind;
    of.blocks = kept.size();
    of.first = first->time;
    of.last = last->time;
    of.newest = last->block;
    all.push_back(of);
  }
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  if (all.size() > limit) all.resize(limit);
  return all;
}

}  // namespace sluice::analysis
