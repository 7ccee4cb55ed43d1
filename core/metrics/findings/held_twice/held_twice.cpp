#include "core/metrics/findings/held_twice/held_twice.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "core/base/saturating.hpp"
#include "core/index/event_store.hpp"
#include "core/index/memory/block_ends.hpp"
#include "core/index/tensor_facts.hpp"
#include "core/metrics/base/memory_peak.hpp"

namespace sluice::metrics {
namespace {

bool lasts(index::category wanted) {
  return wanted == index::category::none || wanted == index::category::weight ||
         wanted == index::category::optimizer_state;
}

index::category category_at(const index::memory_use& memory, const index::block_record& block,
                            const index::tensor_facts& facts) {
  const auto at = static_cast<std::size_t>(&block - memory.blocks().data());
  return at < facts.categories.size() ? facts.categories[at].kind : index::category::none;
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

void held_twice_builder::add(const of_run& found, const index::event_store& store, time_range run) {
  if (store.touches().empty()) return;
  for (const live_pair& each : found.pairs_)
    if (live_.size() < max_pairs) live_.push_back(each);
  const auto facts = store.tensors(*scope_.trace);
  const auto ends = [&](live_half& subject) {
    const index::block_record* block = subject.ended ? nullptr : store.memory().find(subject.block);
    if (block == nullptr || !index::ends_in(*block, run)) return subject.ended;
    const index::category wanted = category_at(store.memory(), *block, *facts);
    subject.ended = true;
    if (block->freed()) subject.side.died = block->died;
    subject.lasts = lasts(wanted);
    subject.categorised = wanted != index::category::none;
    subject.last_use = store.touches().of(*block).last.time;
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

held_twice_builder::of_run held_twice_builder::find(const index::event_store& store, time_range run) const {
  of_run found_here;
  if (store.touches().empty() || intersect(scope_.range, run).length() <= 0) return found_here;
  const std::span<const index::block_record> blocks = store.memory().blocks();
  const auto facts = store.tensors(*scope_.trace);
  // The category of a block that is still live is not known yet.
  const auto may_last = [&](const index::block_record& block) {
    return index::takes_device_memory(block) && block.bytes >= min_bytes && block.bytes <= std::uint64_t{1} << 48U &&
           (!index::ends_in(block, run) || lasts(category_at(store.memory(), block, *facts)));
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
    const std::span<const index::access> uses = store.touches().accesses_to(block.id);
    if (!uses.empty() && uses.front().kind == index::access_kind::kernel)
      launches.try_emplace(uses.front().time, launch{i, {}, 0});
  }
  if (launches.empty()) return found_here;
  for (const index::access& each : store.touches().accesses()) {
    const auto found = launches.find(each.time);
    if (found == launches.end() || each.block == blocks[found->second.copy].id) continue;
    found->second.original = each.block;
    ++found->second.others;
  }
  for (const auto& [time, each] : launches) {
    const index::block_record& copy = blocks[each.copy];
    const index::block_record* original = each.others == 1 ? store.memory().find(each.original) : nullptr;
    if (original == nullptr || original->process != copy.process || index::get_key(*original) != index::get_key(copy))
      continue;
    if (!may_last(*original) || found_here.pairs_.size() >= max_pairs) continue;
    if (!are_of_two_types(original->bytes, copy.bytes, true)) continue;
    live_pair& output = found_here.pairs_.emplace_back();
    std::tie(output.memory, output.copied) = std::tuple(index::get_key(copy), copy.born);
    std::tie(output.original.block, output.original.side.stack, output.original.side.bytes) =
        std::tie(original->id, original->stack, original->bytes);
    std::tie(output.copy.block, output.copy.side.stack, output.copy.side.bytes) =
        std::tie(copy.id, copy.stack, copy.bytes);
  }
  return found_here;
}

void held_twice_builder::keep(const live_pair& subject) {
  const bool categorised = subject.original.categorised || subject.copy.categorised;
  if (!subject.original.lasts || !subject.copy.lasts || pairs_.size() >= max_pairs) return;
  if (!are_of_two_types(subject.original.side.bytes, subject.copy.side.bytes, categorised)) return;
  last_use_ = std::max({last_use_, subject.original.last_use, subject.copy.last_use});
  pairs_.push_back({subject.memory, subject.original.side, subject.copy.side, subject.copy.block, subject.copied});
}

std::vector<held_twice> held_twice_builder::metrics(std::span<const memory_peak> peaks, time_range active) const {
  const time_ns end = std::max(active.end, last_use_);
  std::vector<held_twice> twices;
  for (const memory_peak& peak : peaks) {
    const index::memory_key key{peak.device, peak.layer, peak.kind};
    std::map<std::pair<trace::stack_id, trace::stack_id>, held_twice> groups;
    for (const pair& each : pairs_) {
      const time_ns until = std::min({each.original.died, each.copy.died, end});
      const bool stays = until - each.copied >= (end - each.copied) / 2;
      if (each.memory != key || each.copied > peak.time || until <= peak.time || !stays) continue;
      held_twice& twice = groups[{each.original.stack, each.copy.stack}];
      ++twice.blocks;
      saturating_add(twice.bytes, each.original.bytes);
      saturating_add(twice.copy_bytes, each.copy.bytes);
      // If several blocks are equally large, take the one with the lowest id, so that the order of arrival does not
      // matter.
      if (each.copy.bytes < twice.largest_bytes ||
          (each.copy.bytes == twice.largest_bytes && each.block > twice.largest))
        continue;
      twice.largest = each.block;
      twice.largest_bytes = each.copy.bytes;
    }
    for (auto& [stacks, subject] : groups) {
      std::tie(subject.device, subject.layer, subject.kind) = std::tie(key.device, key.layer, key.kind);
      std::tie(subject.stack, subject.copy_stack) = stacks;
      std::tie(subject.peak_time, subject.peak_bytes) = std::tie(peak.time, peak.bytes);
      twices.push_back(subject);
    }
  }
  std::stable_sort(twices.begin(), twices.end(),
                   [](const held_twice& a, const held_twice& b) { return a.copy_bytes > b.copy_bytes; });
  if (twices.size() > limit) twices.resize(limit);
  return twices;
}

}  // namespace sluice::metrics
