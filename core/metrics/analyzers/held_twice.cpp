#include "core/metrics/analyzers/held_twice.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "core/base/saturating.hpp"
#include "core/index/event_store.hpp"
#include "core/index/memory/block_ends.hpp"
#include "core/index/tensor_facts.hpp"
#include "core/metrics/report.hpp"

namespace sluice::metrics {
namespace {

bool lasts(index::category what) {
  return what == index::category::none || what == index::category::weight || what == index::category::optimizer_state;
}

index::category category_at(const index::memory_use& memory, const index::block_record& block,
                            const index::tensor_facts& facts) {
  const auto at = static_cast<std::size_t>(&block - memory.blocks().data());
  return at < facts.categories.size() ? facts.categories[at].what : index::category::none;
}

/// True if `more` is `times` times `less`, apart from rounding.
bool is_multiple(std::uint64_t more, std::uint64_t less, std::uint64_t times) {
  const std::uint64_t product = less * times;
  return (more > product ? more - product : product - more) <= held_twice_builder::rounding;
}

bool are_of_two_types(std::uint64_t a, std::uint64_t b, bool categorised) {
  const auto [less, more] = std::minmax(a, b);
  // If the categories are unknown, a copy of a quarter of the size could also be an image of half the width and height.
  return is_multiple(more, less, 2) || (categorised && is_multiple(more, less, 4));
}

}  // namespace

void held_twice_builder::add(const of_run& found, const index::event_store& from, time_range run) {
  if (from.touches().empty()) return;
  for (const live_pair& each : found.pairs_)
    if (live_.size() < max_pairs) live_.push_back(each);
  const auto facts = from.tensors(*scope_.trace);
  const auto ends = [&](live_half& of) {
    const index::block_record* block = of.ended ? nullptr : from.memory().find(of.block);
    if (block == nullptr || !index::ends_in(*block, run)) return of.ended;
    const index::category what = category_at(from.memory(), *block, *facts);
    of.ended = true;
    if (block->freed()) of.of.died = block->died;
    of.lasts = lasts(what);
    of.categorised = what != index::category::none;
    of.last_use = from.touches().of(*block).last.time;
    return true;
  };
  std::erase_if(live_, [&](live_pair& each) {
    const bool first = ends(each.original), second = ends(each.copy);
    if (first && second) keep(each);
    // If the half that ended is not long-lived, discard the pair, however long the other half stays live.
    const bool no_pair = (first && !each.original.lasts) || (second && !each.copy.lasts);
    return no_pair || (first && second);
  });
}

held_twice_builder::of_run held_twice_builder::find(const index::event_store& from, time_range run) const {
  of_run found_here;
  if (from.touches().empty() || common_of(scope_.range, run).length() <= 0) return found_here;
  const std::span<const index::block_record> blocks = from.memory().blocks();
  const auto facts = from.tensors(*scope_.trace);
  // The category of a block that is still live is not known yet.
  const auto may_last = [&](const index::block_record& block) {
    return index::takes_device_memory(block) && block.bytes >= min_bytes && block.bytes <= std::uint64_t{1} << 48U &&
           (!index::ends_in(block, run) || lasts(category_at(from.memory(), block, *facts)));
  };
  struct launch {
    std::size_t copy = 0;
    trace::block_id original{};
    std::size_t others = 0;
  };
  std::unordered_map<time_ns, launch> launches;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const index::block_record& block = blocks[i];
    if (!run.holds(block.born) || !scope_.range.holds(block.born) || !may_last(block)) continue;
    const std::span<const index::access> uses = from.touches().accesses_to(block.id);
    if (!uses.empty() && uses.front().kind == index::access_kind::kernel)
      launches.try_emplace(uses.front().time, launch{i, {}, 0});
  }
  if (launches.empty()) return found_here;
  for (const index::access& each : from.touches().accesses()) {
    const auto found = launches.find(each.time);
    if (found == launches.end() || each.block == blocks[found->second.copy].id) continue;
    found->second.original = each.block;
    ++found->second.others;
  }
  for (const auto& [time, each] : launches) {
    const index::block_record& copy = blocks[each.copy];
    const index::block_record* original = each.others == 1 ? from.memory().find(each.original) : nullptr;
    if (original == nullptr || original->process != copy.process || index::key_of(*original) != index::key_of(copy))
      continue;
    if (!may_last(*original) || found_here.pairs_.size() >= max_pairs) continue;
    if (!are_of_two_types(original->bytes, copy.bytes, true)) continue;
    live_pair& made = found_here.pairs_.emplace_back();
    std::tie(made.of, made.made) = std::tuple(index::key_of(copy), copy.born);
    std::tie(made.original.block, made.original.of.stack, made.original.of.bytes) =
        std::tie(original->id, original->stack, original->bytes);
    std::tie(made.copy.block, made.copy.of.stack, made.copy.of.bytes) = std::tie(copy.id, copy.stack, copy.bytes);
  }
  return found_here;
}

void held_twice_builder::keep(const live_pair& of) {
  const bool categorised = of.original.categorised || of.copy.categorised;
  if (!of.original.lasts || !of.copy.lasts || pairs_.size() >= max_pairs) return;
  if (!are_of_two_types(of.original.of.bytes, of.copy.of.bytes, categorised)) return;
  last_use_ = std::max({last_use_, of.original.last_use, of.copy.last_use});
  pairs_.push_back({of.of, of.original.of, of.copy.of, of.copy.block, of.made});
}

std::vector<held_twice> held_twice_builder::metrics(std::span<const memory_peak> peaks, time_range active) const {
  const time_ns end = std::max(active.end, last_use_);
  std::vector<held_twice> made;
  for (const memory_peak& peak : peaks) {
    const index::memory_key key{peak.device, peak.layer, peak.kind};
    std::map<std::pair<trace::stack_id, trace::stack_id>, held_twice> groups;
    for (const pair& each : pairs_) {
      const time_ns until = std::min({each.original.died, each.copy.died, end});
      const bool stays = until - each.made >= (end - each.made) / 2;
      if (each.of != key || each.made > peak.time || until <= peak.time || !stays) continue;
      held_twice& of = groups[{each.original.stack, each.copy.stack}];
      ++of.blocks;
      saturating_add(of.bytes, each.original.bytes);
      saturating_add(of.copy_bytes, each.copy.bytes);
      // If several blocks are equally large, take the one with the lowest id, so that the order of arrival does not
      // matter.
      if (each.copy.bytes < of.largest_bytes || (each.copy.bytes == of.largest_bytes && each.block > of.largest))
        continue;
      of.largest = each.block;
      of.largest_bytes = each.copy.bytes;
    }
    for (auto& [stacks, of] : groups) {
      std::tie(of.device, of.layer, of.kind) = std::tie(key.device, key.layer, key.kind);
      std::tie(of.stack, of.copy_stack) = stacks;
      std::tie(of.peak_time, of.peak_bytes) = std::tie(peak.time, peak.bytes);
      made.push_back(of);
    }
  }
  std::stable_sort(made.begin(), made.end(),
                   [](const held_twice& a, const held_twice& b) { return a.copy_bytes > b.copy_bytes; });
  if (made.size() > limit) made.resize(limit);
  return made;
}

}  // namespace sluice::metrics
