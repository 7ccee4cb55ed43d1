#include "core/metrics/host_causes/sampled_causes.hpp"

#include <algorithm>
#include <utility>

#include "core/base/saturating.hpp"

namespace sluice::metrics {

void sampled_causes::add(const host_cause& cause, trace::stack_id stack, time_ns time) {
  if (time <= 0) return;
  saturating_add(total_, time);
  sampled_time& to = causes_[cause];
  saturating_add(to.time, time);
  if (time <= to.stack_time) return;
  to.stack = stack;
  to.stack_time = time;
}

void sampled_causes::clear() {
  causes_.clear();
  total_ = 0;
}

sampled_verdict sampled_causes::find_winner() const {
  sampled_verdict winner;
  // Causes with the same reason and library, which differ in the line, are neighbours.
  for (auto kind = causes_.begin(), next = kind; kind != causes_.end(); kind = next) {
    time_ns time = 0;
    auto longest = kind;
    for (; next != causes_.end() && next->first.reason == kind->first.reason &&
           next->first.library == kind->first.library;
         ++next) {
      saturating_add(time, next->second.time);
      if (next->second.time > longest->second.time) longest = next;
    }
    if (time > winner.time) winner = {longest->first, time, longest->second.stack};
  }
  return winner;
}

bool sampled_causes::has_half(const host_cause& winner) const {
  time_ns named = 0, on_line = 0;
  for (const auto& [cause, each] : causes_) {
    const bool same = winner.library.empty() ? cause.reason == winner.reason : cause.library == winner.library;
    if (same) saturating_add(named, each.time);
    if (winner.line != 0 && cause.line == winner.line) saturating_add(on_line, each.time);
  }
  const time_ns most = std::max(named, on_line);
  return most >= total_ - most;
}

sampled_verdict sampled_causes::judge() const {
  if (causes_.empty()) return {};
  sampled_verdict winner = find_winner();
  if (has_half(winner.cause)) return winner;
  winner.cause = {host_reason::mixed, {}, 0};
  winner.time = total_;
  return winner;
}

}  // namespace sluice::metrics
