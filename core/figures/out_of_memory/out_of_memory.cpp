#include "core/figures/out_of_memory/out_of_memory.hpp"

#include <algorithm>
#include <map>

#include "core/figures/fragmentation.hpp"
#include "core/figures/out_of_memory/held_shares.hpp"
#include "core/figures/out_of_memory/memory_at_failure.hpp"
#include "core/figures/out_of_memory/remedies.hpp"
#include "core/index/index.hpp"
#include "core/index/tensor_facts.hpp"

namespace sluice::analysis {
namespace {

/// Lists longer than this tell no more; what is beyond them is small.
constexpr std::size_t most_shares = 4096;

std::vector<held_share> shortened(std::vector<held_share> all) {
  if (all.size() > most_shares) all.resize(most_shares);
  return all;
}

/// The live blocks of the memory that failed, at another time.
std::vector<held_share> held_at(const trace::alloc_failed_event& failed, time_ns time, const index& from,
                                const tensor_facts& facts) {
  held_shares_builder all;
  const std::span<const block_record> blocks = from.memory().blocks();
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const block_record& block = blocks[i];
    if (!block.allocated || block.imported() || !block.live_at(time) ||
        key_of(block) != memory_key{failed.device, failed.layer, failed.kind} || block.process != failed.process)
      continue;
    all.add(block, i < facts.categories.size() ? facts.categories[i].what : category::none);
  }
  return all.take();
}

/// How much more is held than before, by stack and category.
std::vector<held_share> growth_of(const std::vector<held_share>& now, const std::vector<held_share>& before) {
  std::map<std::pair<trace::stack_id, category>, const held_share*> then;
  for (const held_share& each : before) then.emplace(std::pair(each.stack, each.what), &each);
  std::vector<held_share> made;
  for (held_share each : now) {
    const auto known = then.find({each.stack, each.what});
    if (known != then.end()) {
      if (each.bytes <= known->second->bytes) continue;
      each.bytes -= known->second->bytes;
      each.blocks -= std::min(each.blocks, known->second->blocks);
    }
    made.push_back(each);
  }
  std::stable_sort(made.begin(), made.end(),
                   [](const held_share& a, const held_share& b) { return a.bytes > b.bytes; });
  return made;
}

/// The blocks that keep segments with holes from being given back.
std::vector<held_share> pins_of(const memory_at_failure& at, const index& from, const block_uses& uses) {
  held_shares_builder all;
  std::map<std::pair<trace::stack_id, category>, std::uint64_t> pinned;
  for (const segment_layout& segment : at.segments()) {
    std::uint64_t free = 0;
    visit_holes(segment, [&](std::uint64_t /*offset*/, std::uint64_t bytes) { saturating_add(free, bytes); });
    if (free == 0) continue;
    std::map<std::pair<trace::stack_id, category>, bool> here;
    for (const segment_layout::piece& piece : segment.pieces) {
      const block_record& block = from.memory().blocks()[piece.block];
      const category what = uses.category_of(piece.block);
      all.add(block, what);
      if (here.emplace(std::pair(block.stack, what), true).second) saturating_add(pinned[{block.stack, what}], free);
    }
  }
  std::vector<held_share> made = all.take();
  for (held_share& each : made) each.pinned_bytes = pinned[{each.stack, each.what}];
  std::stable_sort(made.begin(), made.end(),
                   [](const held_share& a, const held_share& b) { return a.pinned_bytes > b.pinned_bytes; });
  return made;
}

}  // namespace

void out_of_memory_builder::set(const trace::alloc_failed_event& failed, std::vector<trace::alloc_failed_event> all,
                                const step_facts& steps) {
  failed_ = failed;
  all_failed_ = std::move(all);
  before_ = step_before(steps);
}

time_ns out_of_memory_builder::step_before(const step_facts& of) const {
  const auto known = of.lists().find(failed_->process);
  if (known == of.lists().end()) return trace::unknown_time;
  const std::vector<step>& steps = known->second.steps;
  const time_ns time = bounded(failed_->time);
  const auto next = std::upper_bound(steps.begin(), steps.end(), time,
                                     [](time_ns t, const step& each) { return t < each.span.begin; });
  if (next == steps.begin()) return trace::unknown_time;
  auto last = next - 1;
  time_ns begin = last->span.begin;
  if (last->span.end <= time) {
    begin = last->span.end;  // The step that the failure cut short.
  } else if (last == steps.begin()) {
    return trace::unknown_time;
  } else {
    --last;
  }
  const time_ns into = std::min(time - begin, last->span.length() - 1);
  const time_ns found = last->span.begin + std::max<time_ns>(into, 0);
  return scope_.range.holds(found) ? found : trace::unknown_time;
}

std::vector<time_ns> out_of_memory_builder::moments() const {
  if (!failed_) return {};
  std::vector<time_ns> all{bounded(failed_->time)};
  if (before_ != trace::unknown_time) all.push_back(before_);
  return all;
}

void out_of_memory_builder::look(const index& from, time_range run, const fragmentation_builder& segments) {
  if (!failed_) return;
  const time_ns time = bounded(failed_->time);
  const bool sees_step_before = before_ != trace::unknown_time && run.holds(before_);
  if (!sees_step_before && !run.holds(time)) return;
  const auto facts = from.tensors(*scope_.trace);
  if (sees_step_before) held_before_ = held_at(*failed_, before_, from, *facts);
  if (!run.holds(time)) return;
  const memory_at_failure at(*failed_, all_failed_, from, run, segments, scope_.tables());
  const block_uses uses(at, from, *facts, failed_->process, time, run);
  out_of_memory& made = made_.emplace();
  made.event = failed_->id;
  made.time = time;
  made.process = failed_->process;
  made.device = failed_->device;
  made.layer = failed_->layer;
  made.kind = failed_->kind;
  made.stack = failed_->stack;
  made.call = failed_->name;
  at.describe(made);
  if (from.is_part() && run.begin > time_range_of(*scope_.trace).begin) made.seen_from = run.begin;
  made.uses_known = uses.known();
  held_shares_builder held;
  held_shares_builder unused;
  for (const std::size_t each : at.live()) {
    const block_record& block = from.memory().blocks()[each];
    held.add(block, uses.category_of(each));
    if (uses.state_of(each) == block_state::unused) unused.add(block, uses.category_of(each), uses.last_use(each));
  }
  made.held = shortened(held.take());
  made.unused = shortened(unused.take());
  made.pins = shortened(pins_of(at, from, uses));
  find_remedies(*failed_, at, uses, from, *scope_.trace, made);
}

std::vector<out_of_memory> out_of_memory_builder::take() {
  if (!made_) return {};
  if (held_before_) {
    made_->compared = before_;
    made_->grown = shortened(growth_of(made_->held, *held_before_));
  }
  return {std::move(*made_)};
}

}  // namespace sluice::analysis
