#include "core/index/work/copy_calls.hpp"

#include <algorithm>

#include "core/index/work/device_work.hpp"

namespace sluice::index {

void copy_calls::add(const std::vector<trace::transfer_event>& rows) {
  for (const trace::transfer_event& row : rows) {
    const time_ns begin = bounded(row.time);
    const time_ns end = row.end == trace::unknown_time ? latest_time : std::max(begin, bounded(row.end));
    const bool down = row.direction == trace::direction::d2h;
    copies_.push_back({row.id, row.call, row.device, row.direction, begin, end, row.bytes,
                       row.enqueued == trace::unknown_time ? begin : bounded(row.enqueued), row.stream, row.process,
                       get_host_side(row), down ? row.destination_address : row.source_address, row.copies,
                       row.asynchronous});
  }
}

void copy_calls::add(const std::vector<trace::api_call_event>& rows) {
  for (const trace::api_call_event& row : rows) {
    if (row.stack == trace::stack_id::none) continue;
    sorted_ = sorted_ && (calls_.empty() || calls_.back().id < row.id);
    calls_.push_back({row.id, row.stack});
  }
}

void copy_calls::settle() {
  if (sorted_) return;
  std::stable_sort(calls_.begin(), calls_.end(), [](const call& a, const call& b) { return a.id < b.id; });
  sorted_ = true;
}

trace::stack_id copy_calls::find_stack(trace::event_id id) const {
  const auto found = std::lower_bound(calls_.begin(), calls_.end(), id,
                                      [](const call& c, trace::event_id wanted) { return c.id < wanted; });
  return found == calls_.end() || found->id != id ? trace::stack_id::none : found->stack;
}

}  // namespace sluice::index
