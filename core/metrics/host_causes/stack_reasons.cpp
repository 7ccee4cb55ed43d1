#include "core/metrics/host_causes/stack_reasons.hpp"

#include <functional>

#include "core/symbols/frames.hpp"

namespace sluice::metrics {

std::size_t stack_reasons::hash::operator()(const key& subject) const {
  std::size_t value = raw(subject.stack) * 0x9E3779B97F4A7C15U;
  value ^= (static_cast<std::size_t>(subject.state) + 1) * 0xC2B2AE3D27D4EB4FU;
  return value ^ std::hash<std::int64_t>{}(subject.system_call) * 0x165667B19E3779F9U;
}

const known_frame& stack_reasons::find_frame(trace::frame_id frame, const trace::tables& tables) {
  const auto [place, fresh] = frames_.try_emplace(raw(frame));
  if (!fresh) return place->second;
  const trace::frame_row* row = tables.frames.find(frame);
  if (row == nullptr) return place->second;
  const host_frame described{row->kind, tables.text(row->function), tables.text(row->module), tables.text(row->file),
                             row->line};
  note_frame(traits_, described);
  return place->second = know(described);
}

host_cause stack_reasons::classify_stack(const index::host_sample& sample, const trace::tables& tables) {
  stack_.clear();
  numbers_.clear();
  // In a damaged file, stacks may form a cycle.
  for (trace::stack_id at = sample.stack;
       at != trace::stack_id::none && stack_.size() < symbols::frame_cache::deepest;) {
    const trace::stack_row* row = tables.stacks.find(at);
    if (row == nullptr) break;
    stack_.push_back(find_frame(row->frame, tables));
    numbers_.push_back(row->frame);
    at = row->parent;
  }
  if (stack_.empty() && sample.system_call < 0 && sample.state != trace::host_state::runnable)
    return {};  // `unsampled`: nothing is known but that time passed.
  const host_verdict verdict = classify(stack_, sample.state, sample.system_call);
  note_verdict(traits_, verdict);
  host_cause cause;
  cause.reason = verdict.reason;
  cause.library = verdict.library;
  if (verdict.user_frame != no_frame) cause.line = raw(numbers_[verdict.user_frame]);
  return cause;
}

const host_cause& stack_reasons::find(const index::host_sample& sample, const trace::tables& tables) {
  const key wanted{sample.stack, sample.state, sample.system_call};
  if (const auto known = causes_.find(wanted); known != causes_.end()) return known->second;
  if (tables_ != &tables) frames_.clear();  // The frames refer to texts of the tables.
  tables_ = &tables;
  return causes_.emplace(wanted, classify_stack(sample, tables)).first->second;
}

}  // namespace sluice::metrics
