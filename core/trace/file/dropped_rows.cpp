#include "core/trace/file/dropped_rows.hpp"

#include "core/base/format.hpp"

namespace sluice::trace {
namespace {

std::string_view get_table(row_type type) {
  switch (type) {
#define SLUICE_NAME(row, kind) \
  case row_type::kind:         \
    return #kind;
    SLUICE_FOR_EACH_ROW(SLUICE_NAME)
#undef SLUICE_NAME
    default:
      return "other";
  }
}

}  // namespace

std::string dropped_rows::by_kind() const {
  std::string text;
  for (const auto& [type, rows] : kinds_) {
    text += (text.empty() ? "" : ", ") + format_count(rows) + " " + std::string(get_table(type));
  }
  return text;
}

void dropped_rows::add(const dropped_rows& other) {
  for (const auto& [process, lost] : other.processes_) {
    processes_[process].events += lost.events;
    processes_[process].memory_events += lost.memory_events;
  }
  for (const auto& [type, rows] : other.kinds_) kinds_[type] += rows;
  own_.events += other.own_.events;
  own_.memory_events += other.own_.memory_events;
  rows_ += other.rows_;
  reach(other.begin_, other.end_);
}

void dropped_rows::take(row_type type, std::uint64_t rows, time_ns begin, time_ns end) {
  if (!is_event(type)) return take_definitions(type, rows);
  if (is_repeated(type)) {
    rows_ += rows;
    return;
  }
  count_in(type, process_id::none, rows);
  reach(begin, end);
}

void dropped_rows::give_up_frees() {
  for (const free_event& row : frees) take(row);
  frees.clear();
}

void dropped_rows::count_in(row_type type, process_id process, std::uint64_t rows) {
  kinds_[type] += rows;
  rows_ += rows;
  if (!is_happening(type)) return;
  for (count* subject : {&processes_[process], &own_}) {
    subject->events += rows;
    if (is_of_memory(type)) subject->memory_events += rows;
  }
}

void dropped_rows::reach(time_ns begin, time_ns end) {
  begin_ = std::min(begin_, begin);
  end_ = std::max(end_, end);
}

void dropped_rows::take(const loss_event& row) {
  ++rows_;
  processes_[row.process].events += row.events;
  processes_[row.process].memory_events += row.memory_events;
  reach(row.time, row.end);
}

void dropped_rows::take(const free_event& row) {
  reach(row.time, row.time);
  if (row.source != provenance::inferred) count_in(row_type::free, row.process, 1);
}

/// Block ids increase in the order in which the blocks are written.
void dropped_rows::note_first_block(block_id block) {
  if (raw(block) >= first_block_) return;
  first_block_ = raw(block);
  std::vector<free_event> kept;
  for (const free_event& row : std::exchange(frees, {})) {
    if (raw(row.block) < first_block_) {
      kept.push_back(row);
    } else {
      take(row);
    }
  }
  frees = std::move(kept);
}

bool dropped_rows::keep(const free_event& row) {
  if (row.block == block_id::none || raw(row.block) >= first_block_) return false;
  frees.push_back(row);
  return true;
}

}  // namespace sluice::trace
