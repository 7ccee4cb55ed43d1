#include "core/metrics/out_of_memory/out_of_memory.hpp"

#include <algorithm>
#include <map>

#include "core/index/event_store.hpp"
#include "core/index/tensor_facts.hpp"
#include "core/metrics/out_of_memory/held_shares.hpp"
#include "core/metrics/out_of_memory/memory_at_failure.hpp"
#include "core/metrics/out_of_memory/remedies.hpp"
#include "core/metrics/statistics/fragmentation.hpp"

namespace sluice::metrics {
namespace {

/// The maximum length of a list. Entries beyond this length are small.
constexpr std::size_t max_shares = 4096;

std::vector<held_share> shortened(std::vector<held_share> shares) {
  if (shares.size() > max_shares) shares.resize(max_shares);
  return shares;
}

/// Returns the live blocks of the memory in which the allocation failed, at another time than the time of the failure.
std::vector<held_share> held_at(const trace::alloc_failed_event& failed, time_ns time, const index::event_store& store,
                                const index::tensor_facts& facts) {
  held_shares_builder builder;
  const std::span<const index::block_record> blocks = store.memory().blocks();
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const index::block_record& block = blocks[i];
    if (!block.allocated || block.imported() || !block.live_at(time) ||
        index::get_key(block) != index::memory_key{failed.device, failed.layer, failed.kind} ||
        block.process != failed.process)
      continue;
    builder.add(block, i < facts.categories.size() ? facts.categories[i].kind : index::category::none);
  }
  return builder.take();
}

/// Returns the increase of held memory since `before`, by stack and category.
std::vector<held_share> get_growth(const std::vector<held_share>& now, const std::vector<held_share>& before) {
  std::map<std::pair<trace::stack_id, index::category>, const held_share*> then;
  for (const held_share& each : before) then.emplace(std::pair(each.stack, each.category), &each);
  std::vector<held_share> shares;
  for (held_share each : now) {
    const auto known = then.find({each.stack, each.category});
    if (known != then.end()) {
      if (each.bytes <= known->second->bytes) continue;
      each.bytes -= known->second->bytes;
      each.blocks -= std::min(each.blocks, known->second->blocks);
    }
    shares.push_back(each);
  }
  std::stable_sort(shares.begin(), shares.end(),
                   [](const held_share& a, const held_share& b) { return a.bytes > b.bytes; });
  return shares;
}

/// Returns the blocks that keep segments with holes from being returned to the driver.
std::vector<held_share> list_pins(const memory_at_failure& at, const index::event_store& store,
                                  const block_uses& uses) {
  held_shares_builder builder;
  std::map<std::pair<trace::stack_id, index::category>, std::uint64_t> pinned;
  for (const segment_layout& segment : at.segments()) {
    std::uint64_t free = 0;
    visit_holes(segment, [&](std::uint64_t /*offset*/, std::uint64_t bytes) { saturating_add(free, bytes); });
    if (free == 0) continue;
    std::map<std::pair<trace::stack_id, index::category>, bool> here;
    for (const segment_layout::piece& piece : segment.pieces) {
      const index::block_record& block = store.memory().blocks()[piece.block];
      const index::category wanted = uses.find_category(piece.block);
      builder.add(block, wanted);
      if (here.emplace(std::pair(block.stack, wanted), true).second)
        saturating_add(pinned[{block.stack, wanted}], free);
    }
  }
  std::vector<held_share> shares = builder.take();
  for (held_share& each : shares) each.pinned_bytes = pinned[{each.stack, each.category}];
  std::stable_sort(shares.begin(), shares.end(),
                   [](const held_share& a, const held_share& b) { return a.pinned_bytes > b.pinned_bytes; });
  return shares;
}

}  // namespace

void out_of_memory_builder::set(const trace::alloc_failed_event& failed, std::vector<trace::alloc_failed_event> rows,
                                const index::step_facts& steps) {
  failed_ = failed;
  all_failed_ = std::move(rows);
  before_ = step_before(steps);
}

time_ns out_of_memory_builder::step_before(const index::step_facts& facts) const {
  const auto known = facts.lists().find(failed_->process);
  if (known == facts.lists().end()) return trace::unknown_time;
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
  std::vector<time_ns> times{bounded(failed_->time)};
  if (before_ != trace::unknown_time) times.push_back(before_);
  return times;
}

void out_of_memory_builder::revisit(const index::event_store& store, time_range run,
                                    const fragmentation_builder& segments) {
  if (!failed_) return;
  const time_ns time = bounded(failed_->time);
  const bool sees_step_before = before_ != trace::unknown_time && run.holds(before_);
  if (!sees_step_before && !run.holds(time)) return;
  const auto facts = store.tensors(*scope_.trace);
  if (sees_step_before) held_before_ = held_at(*failed_, before_, store, *facts);
  if (!run.holds(time)) return;
  const memory_at_failure at(*failed_, all_failed_, store, run, segments, scope_.tables());
  const block_uses uses(at, store, *facts, failed_->process, time, run);
  out_of_memory& memory = made_.emplace();
  memory.event = failed_->id;
  memory.time = time;
  memory.process = failed_->process;
  memory.device = failed_->device;
  memory.layer = failed_->layer;
  memory.kind = failed_->kind;
  memory.stack = failed_->stack;
  memory.call = failed_->name;
  at.describe(memory);
  if (store.is_part() && run.begin > index::recorded_range(*scope_.trace).begin) memory.seen_from = run.begin;
  memory.uses_known = uses.known();
  held_shares_builder held;
  held_shares_builder unused;
  for (const std::size_t each : at.live()) {
    const index::block_record& block = store.memory().blocks()[each];
    held.add(block, uses.find_category(each));
    if (uses.get_state(each) == block_state::unused) unused.add(block, uses.find_category(each), uses.last_use(each));
  }
  memory.held = shortened(held.take());
  memory.unused = shortened(unused.take());
  memory.pins = shortened(list_pins(at, store, uses));
  find_remedies(*failed_, at, uses, store, *scope_.trace, memory);
}

std::vector<out_of_memory> out_of_memory_builder::take() {
  if (!made_) return {};
  if (held_before_) {
    made_->compared = before_;
    made_->grown = shortened(get_growth(made_->held, *held_before_));
  }
  return {std::move(*made_)};
}

}  // namespace sluice::metrics
