#include "core/index/work/driver_calls.hpp"

#include <algorithm>

namespace sluice::index {

void driver_calls::add(const trace::alloc_event& row) {
  if (row.layer != trace::layer::driver || row.call_begin == trace::unknown_time || row.call_begin >= row.time) return;
  if (row.device_time != trace::unknown_time || row.stream != trace::stream_id::none) return;  // Stream-ordered.
  calls_.push_back({row.process, row.thread, row.block, row.name, row.stack,
                    bounded({bounded(row.call_begin), bounded(row.time)}), false});
}

void driver_calls::add(const trace::free_event& row) {
  if (row.layer != trace::layer::driver || row.completed == trace::unknown_time || row.completed <= row.time) return;
  if (row.stream != trace::stream_id::none) return;
  calls_.push_back(
      {row.process, row.thread, row.block, {}, {}, bounded({bounded(row.time), bounded(row.completed)}), true});
}

void wait_stacks::settle() {
  std::sort(stacks_.begin(), stacks_.end(), [](const entry& a, const entry& b) { return a.sync < b.sync; });
}

trace::stack_id wait_stacks::of(trace::event_id sync) const {
  const auto found = std::lower_bound(stacks_.begin(), stacks_.end(), sync,
                                      [](const entry& each, trace::event_id wanted) { return each.sync < wanted; });
  return found == stacks_.end() || found->sync != sync ? trace::stack_id::none : found->stack;
}

}  // namespace sluice::index
