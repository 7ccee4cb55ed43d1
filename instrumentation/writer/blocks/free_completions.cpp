#include "instrumentation/writer/blocks/free_completions.hpp"

namespace sluice::writer {

using namespace trace;

namespace {
/// Synchronous frees complete soon; stream-ordered frees may complete at any later time.
constexpr std::uint64_t turns_for_completion = 5;
}  // namespace

void free_completions::write_oldest(block_rows& rows) {
  write(waiting_[first_++].row, rows);
  if (first_ < max_waiting) return;
  waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(first_));
  first_ = 0;
}

bool free_completions::complete(layer layer, std::uint64_t address, time_ns time, block_rows& rows) {
  for (std::size_t i = waiting_.size(); i-- > first_;) {
    free_event& row = waiting_[i].row;
    if (row.address != address || !may_complete(layer, row.layer)) continue;
    row.completed = time;
    write(row, rows);
    waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i));
    return true;
  }
  return false;
}

void free_completions::complete_late(std::uint64_t address, time_ns time, block_rows& rows) {
  const event_id* const row = written_.find(address);
  if (row == nullptr) return;
  rows.add(late_completion{*row, time});
  written_.erase(address);
}

void free_completions::settle(const turn_clock& now, bool everything, block_rows& rows) {
  while (first_ < waiting_.size() && (everything || now.is_over(waiting_[first_].since, turns_for_completion))) {
    write_oldest(rows);
  }
}

void free_completions::forget_past() {
  if (first_ == waiting_.size()) {
    std::vector<waiting_free>().swap(waiting_);
    first_ = 0;
  }
  written_.clear();
}

}  // namespace sluice::writer
