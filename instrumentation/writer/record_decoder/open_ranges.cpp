#include "instrumentation/writer/record_decoder/open_ranges.hpp"

namespace sluice::writer {

using namespace trace;

namespace {
// Limits for programs that begin ranges but never end them: the oldest ranges are then written without an end.
constexpr std::size_t deepest = 4096;
constexpr std::size_t max_open = 65536;
}  // namespace

void open_ranges::write(host_range_event row, time_ns end) {
  row.end = end;
  file_.add(row);
}

void open_ranges::begin(std::uint64_t id, const host_range_event& row) {
  if (id == 0) {
    auto& stack = stacks_[{row.thread, row.domain}];
    if (stack.size() == deepest) {
      write(stack.front(), unknown_time);
      stack.pop_front();
    }
    stack.push_back(row);
    return;
  }
  if (by_id_.size() == max_open) finish();
  const auto [place, fresh] = by_id_.try_emplace(id, row);
  if (fresh) return;
  write(place->second, unknown_time);  // The end of the earlier range was lost.
  place->second = row;
}

void open_ranges::end(std::uint64_t id, const host_range_event& at) {
  if (id != 0) {
    const auto found = by_id_.find(id);
    if (found == by_id_.end()) return;
    write(found->second, at.time);
    by_id_.erase(found);
    return;
  }
  const auto found = stacks_.find({at.thread, at.domain});
  if (found == stacks_.end() || found->second.empty()) return;
  write(found->second.back(), at.time);
  found->second.pop_back();
  if (found->second.empty()) stacks_.erase(found);
}

void open_ranges::finish() {
  for (const auto& [key, stack] : stacks_) {
    for (const host_range_event& row : stack) write(row, unknown_time);
  }
  for (const auto& [id, row] : by_id_) write(row, unknown_time);
  stacks_.clear();
  by_id_.clear();
}

}  // namespace sluice::writer
