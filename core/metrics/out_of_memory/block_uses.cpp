#include "core/metrics/out_of_memory/block_uses.hpp"

#include <algorithm>

namespace sluice::metrics {

block_uses::block_uses(const memory_at_failure& at, const index::event_store& store, const index::tensor_facts& facts,
                       trace::process_id process, time_ns time, time_range run)
    : from_(store),
      facts_(facts),
      time_(time),
      run_(run),
      known_(!store.touches().empty()),
      steps_(facts.get_steps(process)),
      began_(time) {
  for (const std::size_t each : at.live()) began_ = std::min(began_, store.memory().blocks()[each].born);
  if (steps_ == nullptr || steps_->steps.empty()) return;
  const auto next = std::upper_bound(steps_->steps.begin(), steps_->steps.end(), time,
                                     [](time_ns t, const index::step& each) { return t < each.span.begin; });
  if (next == steps_->steps.begin()) return;
  const index::step& last = *(next - 1);
  // If the failure cut the last step short, that step is not in the list.
  const bool cut_short = last.span.end <= time;
  step_begin_ = cut_short ? last.span.end : last.span.begin;
  if (cut_short) steps_idle_ = 1;
}

index::category block_uses::find_category(std::size_t block) const {
  return block < facts_.categories.size() ? facts_.categories[block].kind : index::category::none;
}

bool block_uses::is_of_this_step(std::size_t block) const {
  if (step_begin_ != trace::unknown_time) return from_.memory().blocks()[block].born >= step_begin_;
  const index::category wanted = find_category(block);
  return wanted == index::category::activation || wanted == index::category::input;
}

bool block_uses::grows_with_batch(std::size_t block) const {
  const index::category wanted = find_category(block);
  if (wanted != index::category::workspace)
    return wanted == index::category::activation || wanted == index::category::input;
  return !from_.memory().blocks()[block].live_at(time_) || is_of_this_step(block);
}

time_ns block_uses::last_use(std::size_t at) const {
  const index::block_record& block = from_.memory().blocks()[at];
  const index::block_touches used = from_.touches().of(block);
  if (!used.first.known() || used.first.time >= time_) return trace::unknown_time;
  if (used.last.time < time_) return used.last.time;
  const std::span<const index::access> items = from_.touches().accesses_to(block.id);
  const auto behind = std::lower_bound(items.begin(), items.end(), time_,
                                       [](const index::access& each, time_ns t) { return each.time < t; });
  // The previous access may have happened before this part of the recording.
  return behind != items.begin() ? (behind - 1)->time : std::max(used.first.time, std::min(run_.begin, time_));
}

block_state block_uses::get_state(std::size_t at) const {
  if (!known_) return block_state::needed;
  const index::block_record& block = from_.memory().blocks()[at];
  const index::touch_index& touches = from_.touches();
  const index::category wanted = find_category(at);
  const time_ns last = last_use(at);
  const time_ns since = last == trace::unknown_time ? block.born : last;
  const bool comes_back = touches.of(block).last.known() && touches.of(block).last.time >= time_;
  const std::uint64_t works = touches.works_in(block.process, {since + 1, time_});
  const bool state = wanted == index::category::weight || wanted == index::category::optimizer_state;
  const bool made_for_this_step = wanted != index::category::none && !state && is_of_this_step(at);
  if (!comes_back && !made_for_this_step && works >= held_works) {
    const time_ns end = block.freed() ? block.died : latest_time;
    if (touches.works_in(block.process, {time_, end}) >= held_works) return block_state::unused;
  }
  const bool for_long = step_begin_ != trace::unknown_time
                            ? steps_->begun_between(since, time_) >= steps_idle_
                            : works >= idle_works && time_ - since >= (time_ - began_) / 10;
  if (for_long && !comes_back && !state) return made_for_this_step ? block_state::needed : block_state::unused;
  if (state || for_long) {
    const bool in_this_step = step_begin_ != trace::unknown_time && since >= step_begin_;
    const bool idle = step_begin_ != trace::unknown_time ? !in_this_step && works >= held_works : for_long;
    if (idle) return block_state::idle_state;
  }
  return block_state::needed;
}

}  // namespace sluice::metrics
