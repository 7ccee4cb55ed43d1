#include "core/metrics/host_causes/stack_reasons.hpp"

#include "core/symbols/frames.hpp"

namespace sluice::metrics {

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

host_cause stack_reasons::classify_stack(const index::host_work& work, const trace::tables& tables) {
  stack_.clear();
  numbers_.clear();
  // In a damaged file, stacks may form a cycle.
  for (trace::stack_id at = work.stack; at != trace::stack_id::none && stack_.size() < symbols::frame_cache::deepest;) {
    const trace::stack_row* row = tables.stacks.find(at);
    if (row == nullptr) break;
    stack_.push_back(find_frame(row->frame, tables));
    numbers_.push_back(row->frame);
    at = row->parent;
  }
  if (stack_.empty() && work.system_call < 0 && work.state != trace::host_state::runnable)
    return {};  // `unsampled`: nothing is known but that time passed.
  const host_verdict verdict = classify(stack_, work.state, work.system_call);
  note_verdict(traits_, verdict);
  host_cause cause;
  cause.reason = verdict.reason;
  cause.library = verdict.library;
  if (verdict.user_frame != no_frame) cause.line = raw(numbers_[verdict.user_frame]);
  return cause;
}

const host_cause& stack_reasons::find(const index::host_work& work, const trace::tables& tables) {
  if (const auto known = causes_.find(work); known != causes_.end()) return known->second;
  if (tables_ != &tables) frames_.clear();  // The frames refer to texts of the tables.
  tables_ = &tables;
  return causes_.emplace(work, classify_stack(work, tables)).first->second;
}

}  // namespace sluice::metrics
