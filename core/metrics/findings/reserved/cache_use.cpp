#include "core/metrics/findings/reserved/cache_use.hpp"

#include <algorithm>
#include <tuple>

#include "core/index/event_store.hpp"

namespace sluice::metrics {

template <class Used, class Reserved>
void cache_use_builder::add(gathered& to, std::vector<time_ns> changes, const Used& used, const Reserved& reserved,
                            const index::event_store& store, time_range run) {
  std::sort(changes.begin(), changes.end());
  for (std::size_t i = 0; i < changes.size(); i += to.changes_a_piece) {
    const std::size_t behind = std::min(i + to.changes_a_piece, changes.size());
    const time_range here{changes[i], behind < changes.size() ? changes[behind] : run.end};
    if (here.length() <= 0) continue;
    const timeline::extent held = reserved.over(here.begin, here.end);
    const double weight = static_cast<double>(behind - i + store.touches().works_in(here));
    to.pieces.push_back({used.over(here.begin, here.end).maximum, held.maximum, weight});
    if (held.maximum > to.reserved_maximum) {
      to.reserved_maximum = held.maximum;
      to.reserved_time = held.maximum_time;
    }
    if (to.pieces.size() <= max_pieces) continue;
    for (std::size_t j = 0; j + 1 < to.pieces.size(); j += 2)
      to.pieces[j / 2] = {std::max(to.pieces[j].used, to.pieces[j + 1].used),
                          std::max(to.pieces[j].reserved, to.pieces[j + 1].reserved),
                          to.pieces[j].weight + to.pieces[j + 1].weight};
    to.pieces.resize(to.pieces.size() / 2);
    to.changes_a_piece *= 2;
  }
}

std::map<trace::device_id, timeline::level_tree> cache_use_builder::format_segments(const index::memory_use& memory) {
  for (const index::block_record& block : memory.blocks())
    if (block.allocated && block.layer == trace::layer::framework && block.parent != trace::block_id::none)
      segments_.insert(raw(block.parent));
  std::map<trace::device_id, timeline::level_tree> trees;
  for (const index::block_record& block : memory.blocks()) {
    if (!index::takes_device_memory(block) || !segments_.contains(raw(block.id))) continue;
    timeline::level_tree& use = trees[block.device];
    use.add({block.born, static_cast<double>(block.bytes)});
    if (block.freed()) use.add({block.died, -static_cast<double>(block.bytes)});
  }
  for (auto& [device, use] : trees) use.settle();
  return trees;
}

void cache_use_builder::add(const index::event_store& store, time_range run) {
  const time_range here = intersect(scope_.range, run);
  if (here.length() <= 0) return;
  std::map<key, std::vector<time_ns>> changes;
  for (const index::block_record& block : store.memory().blocks()) {
    if (!index::takes_device_memory(block)) continue;
    const bool framework = block.layer == trace::layer::framework && block.kind == trace::memory_kind::device;
    if (!framework && block.layer != trace::layer::pool) continue;
    std::vector<time_ns>& items = changes[{framework ? trace::pool_id{} : block.pool, block.device}];
    if (here.holds(block.born)) items.push_back(block.born);
    if (block.freed() && here.holds(block.died)) items.push_back(block.died);
  }
  const auto segments = format_segments(store.memory());
  for (auto& [subject, times] : changes) {
    if (subject.first != trace::pool_id::none) {
      const auto pool = store.memory().pools().find(subject.first);
      if (pool != store.memory().pools().end() && !pool->second.reserved.empty())
        add(all_[subject], std::move(times), pool->second.blocks, pool->second.reserved, store, here);
      continue;
    }
    const auto used = store.memory().use().find({subject.second, trace::layer::framework, trace::memory_kind::device});
    const auto held = segments.find(subject.second);
    if (used != store.memory().use().end() && held != segments.end())
      add(all_[subject], std::move(times), used->second, held->second, store, here);
  }
}

void cache_use_builder::hold_until_sampled(std::vector<piece>& pieces) {
  constexpr double nearly = 0.9;  // Pools hold a little more than they hand out, because they round sizes up.
  double held = 0;
  for (auto one = pieces.rbegin(); one != pieces.rend(); ++one) {
    if (one->reserved > 0) held = one->reserved;
    one->reserved = held;
    if (one->used >= nearly * held) held = 0;
  }
}

std::vector<cache_use> cache_use_builder::metrics() const {
  std::vector<cache_use> uses;
  for (auto [subject, found] : all_) {
    if (subject.first != trace::pool_id::none) hold_until_sampled(found.pieces);
    cache_use each;
    std::tie(each.pool, each.device) = subject;
    each.reserved_maximum = static_cast<std::uint64_t>(std::max(found.reserved_maximum, 0.0));
    each.reserved_time = found.reserved_time;
    double total = 0;
    for (const piece& one : found.pieces) total += one.weight;
    each.parts = total < min_weight ? 0 : all_parts;
    double low = 0;
    for (auto one = found.pieces.rbegin(); one != found.pieces.rend(); ++one) {
      if (one->reserved * 2 < found.reserved_maximum || one->used * 2 > one->reserved) break;
      low += one->weight;
      each.usual_maximum = std::max(each.usual_maximum, static_cast<std::uint64_t>(std::max(one->used, 0.0)));
      each.usual_reserved = std::max(each.usual_reserved, static_cast<std::uint64_t>(one->reserved));
    }
    each.low_parts = static_cast<std::uint64_t>(low / std::max(total, 1.0) * static_cast<double>(each.parts));
    if (each.reserved_maximum > 0) uses.push_back(each);
  }
  return uses;
}

}  // namespace sluice::metrics
