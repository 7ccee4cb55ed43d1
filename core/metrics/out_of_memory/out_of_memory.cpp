#include "core/metrics/out_of_memory/out_of_memory.hpp"

#include <algorithm>
#include <map>

#include "core/index/event_store.hpp"
#include "core/index/tensor_facts.hpp"
#include "core/metrics/fragmentation.hpp"
#include "core/metrics/out_of_memory/held_shares.hpp"
#include "core/metrics/out_of_memory/memory_at_failure.hpp"
#include "core/metrics/out_of_memory/remedies.hpp"

namespace sluice::metrics {
namespace {

/// The maximum length of a list. Entries beyond it are small.
constexpr std::size_t max_shares = 4096;

std::vector<held_share> shortened(std::vector<held_share> all) {
  if (all.size() > max_shares) all.resize(max_shares);
  return all;
}

/// Returns the live blocks of the memory in which the allocation failed, at a time other than that of the failure.
std::vector<held_share> held_at(const trace::alloc_failed_event& failed, time_ns time, const index::event_store& from,
                                const index::tensor_facts& facts) {
  held_shares_builder all;
  const std::span<const index::block_record> blocks = from.memory().blocks();
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const index::block_record& block = blocks[i];
    if (!block.allocated || block.imported() || !block.live_at(time) ||
        index::key_of(block) != index::memory_key{failed.device, failed.layer, failed.kind} ||
        block.process != failed.process)
      continue;
    all.add(block, i < facts.categories.size() ? facts.categories[i].what : index::category::none);
  }
  return all.take();
}

/// Returns the increase of held memory since `before`, by stack and category.
std::vector<held_share> growth_of(const std::vector<held_share>& now, const std::vector<held_share>& before) {
  std::map<std::pair<trace::stack_id, index::category>, const held_share*> then;
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

/// Returns the blocks that keep segments with holes from being returned to the driver.
std::vector<held_share> pins_of(const memory_at_failure& at, const index::event_store& from, const block_uses& uses) {
  held_shares_builder all;
  std::map<std::pair<trace::stack_id, index::category>, std::uint64_t> pinned;
  for (const segment_layout& segment : at.segments()) {
    std::uint64_t free = 0;
    visit_holes(segment, [&](std::uint64_t /*offset*/, std::uint64_t bytes) { saturating_add(free, bytes); });
    if (free == 0) continue;
    std::map<std::pair<trace::stack_id, index::category>, bool> here;
    for (const segment_layout::piece& piece : segment.pieces) {
      const index::block_record& block = from.memory().blocks()[piece.block];
      const index::category what = uses.category_of(piece.block);
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
                                const index::step_facts& steps) {
  failed_ = failed;
  all_failed_ = std::move(all);
  before_ = step_before(steps);
}

time_ns out_of_memory_builder::step_before(const index::step_facts& of) const {
  const auto known = of.lists().find(failed_->process);
  if (known == of.lists().end()) return trace::unknown_time;
  const std::vector<index::step>& steps = known->second.steps;
  const time_ns time = bounded(failed_->time);
  const auto next = std::upper_bound(steps.begin(), steps.end(), time,
                                     [](time_ns t, const index::step& each) { return t < each.span.begin; });
  if (next == steps.begin()) return trace::unknown_time;
  auto last = next - 1;
  time_ns begin = last->span.begin;
  if (last->span.end <= time) {
    begin = last->span.end;  // The failure cut short the step that begins here.
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

void out_of_memory_builder::revisit(const index::event_store& from, time_range run,
                                    const fragmentation_builder& segments) {
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
  if (from.is_part() && run.begin > index::time_range_of(*scope_.trace).begin) made.seen_from = run.begin;
  made.uses_known = uses.known();
  held_shares_builder held;
  held_shares_builder unused;
  for (const std::size_t each : at.live()) {
    const index::block_record& block = from.memory().blocks()[each];
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

}  // namespace sluice::metrics
