#include "core/metrics/statistics/memory_at_marks.hpp"

#include <algorithm>
#include <limits>
#include <span>
#include <tuple>
#include <utility>

#include "core/base/saturating.hpp"
#include "core/index/event_store.hpp"
#include "core/index/memory/block_ends.hpp"

namespace sluice::metrics {
namespace {

std::vector<trace::marker_event> marks_in(const trace::snapshot& recording, time_range range, std::size_t most) {
  std::vector<trace::marker_event> rows;
  if (most == 0 || range.length() <= 0) return rows;
  const auto before = [](const auto& a, const auto& b) { return std::tuple(a.time, a.id) < std::tuple(b.time, b.id); };
  const auto cut = [&] {
    if (rows.size() <= most) return;
    std::nth_element(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(most), rows.end(), before);
    rows.resize(most);
  };
  // Ignore errors here: code that reads the whole file reports them.
  static_cast<void>(recording.for_each<trace::marker_event>(
      [&](const trace::marker_event& row) {
        if (!range.holds(row.time)) return;
        rows.push_back(row);
        if (rows.size() >= 8 * mark_limit) cut();
      },
      range.begin, range.end));
  cut();
  std::sort(rows.begin(), rows.end(), before);
  return rows;
}

/// Converts a size to a signed number, so that it can be subtracted.
std::int64_t counted(std::uint64_t bytes) {
  return static_cast<std::int64_t>(std::min<std::uint64_t>(bytes, std::numeric_limits<std::int64_t>::max()));
}

/// Returns the index of the first mark at or after `time`.
std::size_t first_from(const std::vector<program_mark>& marks, time_ns time) {
  const auto found = std::partition_point(marks.begin(), marks.end(), [=](const auto& m) { return m.time < time; });
  return static_cast<std::size_t>(found - marks.begin());
}

/// Calls `use(mark, row)` with the latest row of each id at each of `marks`, which must be in `run`. `latest` contains
/// the latest rows before `run`, and the function updates it to the latest rows after `run`. `find_process(id)` returns
/// the process of an id.
template <class Row, class Id, class Process, class Use>
void with_latest(std::span<program_mark> marks, const trace::snapshot& recording, time_range run, Id Row::*id,
                 std::map<Id, Row>& latest, Process find_process, Use use) {
  std::vector<std::map<Id, Row>> since(marks.size() +
                                       1);  // Rows since the previous mark; finally, rows after all marks.
  static_cast<void>(recording.for_each<Row>(
      [&](const Row& row) {
        if (!run.holds(bounded(row.time))) return;
        const auto at =
            std::partition_point(marks.begin(), marks.end(), [&](const auto& m) { return m.time < row.time; });
        const auto [known, fresh] = since[static_cast<std::size_t>(at - marks.begin())].try_emplace(row.*id, row);
        const auto order = [](const Row& r) { return std::tuple(r.time, r.id); };
        if (!fresh && order(known->second) <= order(row)) known->second = row;
      },
      run.begin, run.end));
  for (std::size_t i = 0; i < since.size(); ++i) {
    for (const auto& [which, row] : since[i]) latest.insert_or_assign(which, row);
    if (i == marks.size()) break;
    for (const auto& [which, row] : latest)
      if (find_process(which) == marks[i].process) use(marks[i], row);
  }
}

/// Returns true if the recording has marks. O(chunks).
bool has_marks(const trace::snapshot& recording) {
  bool any = false;
  const auto is_marker = [](trace::row_type type) { return type == trace::row_type::marker; };
  recording.chunks_to_search().for_each(is_marker, [&](std::size_t, const trace::chunk_info&) { any = true; });
  return any;
}

}  // namespace

bool marks_builder::goes_on() const { return !left_out_ || !has_marks(*scope_.trace); }

void marks_builder::add(const index::event_store& store, time_range run) {
  any_ = any_ || has_marks(*scope_.trace);
  left_out_ = left_out_ || !any_;
  if (!any_) return;
  const std::size_t first = marks_.size();
  if (first < mark_limit) add_marks(run);
  add_totals(store.memory(), first);
  add_segments(store.memory(), run);
}

void marks_builder::add_marks(time_range run) {
  const trace::snapshot& trace = *scope_.trace;
  const std::size_t first = marks_.size();
  for (const trace::marker_event& row : marks_in(trace, intersect(scope_.range, run), mark_limit - first))
    marks_.push_back({bounded(row.time), row.process, row.thread, row.name, row.step, {}, {}, {}});
  if (marks_.size() == first) return;
  totals_.resize(marks_.size());
  const time_range unread{std::exchange(read_until_, run.end), run.end};
  const std::span<program_mark> fresh = std::span(marks_).subspan(first);
  const trace::tables& tables = trace.tables();
  with_latest(
      fresh, trace, unread, &trace::counter_event::counter, counters_,
      [&](trace::counter_id id) {
        const trace::counter_row* row = tables.counters.find(id);
        return row == nullptr ? trace::process_id::none : row->process;
      },
      [](program_mark& mark, const trace::counter_event& row) {
        mark.counters.push_back({row.counter, row.value});
      });
  with_latest(
      fresh, trace, unread, &trace::pool_event::pool, pools_,
      [&](trace::pool_id id) {
        const trace::pool_row* row = tables.pools.find(id);
        return row == nullptr ? trace::process_id::none : row->process;
      },
      [](program_mark& mark, const trace::pool_event& row) {
        mark.pools.push_back({row.pool, row.reserved, row.used});
      });
}

void marks_builder::add_totals(const index::memory_use& memory, std::size_t first) {
  struct change {
    time_ns time;
    trace::process_id process;
    index::memory_key memory;
    std::int64_t bytes;
    std::int64_t blocks;
  };
  const std::size_t last = marks_.size();
  if (first == last) return;
  const time_ns end = marks_[last - 1].time;
  std::vector<change> changes;
  for (const index::block_record& block : memory.blocks()) {
    if (!block.allocated || block.imported() || block.born > end) continue;
    const index::memory_key key{block.device, block.layer, block.kind};
    const std::int64_t bytes = counted(block.bytes);
    changes.push_back({block.born, block.process, key, bytes, 1});
    if (block.freed() && block.died <= end) changes.push_back({block.died, block.process, key, -bytes, -1});
  }
  std::sort(changes.begin(), changes.end(), [](const change& a, const change& b) { return a.time < b.time; });
  std::map<trace::process_id, std::map<index::memory_key, total>> now;
  auto next = changes.begin();
  for (std::size_t i = first; i < last; ++i) {
    for (; next != changes.end() && next->time <= marks_[i].time; ++next) {
      total& t = now[next->process][next->memory];
      saturating_add(t.bytes, next->bytes);
      t.blocks += next->blocks;
    }
    totals_[i] = now[marks_[i].process];
  }
}

void marks_builder::keep(const index::block_record& block) {
  segments_.try_emplace(raw(block.id), segment{block.process, block.born, block.died, block.bytes});
}

void marks_builder::add_segments(const index::memory_use& memory, time_range run) {
  for (const index::block_record& block : memory.blocks()) {
    if (!block.allocated || !run.holds(block.born) || block.imported() || block.parent == trace::block_id::none)
      continue;
    const auto [place, fresh] = parents_.emplace(index::get_key(block), block.parent);
    if (!fresh) continue;
    // A block cannot be in a segment that was freed before the block was allocated.
    const index::block_record* parent = memory.find(block.parent);
    const bool gone =
        parent != nullptr ? parent->freed() && parent->died < block.born : segments_.contains(raw(block.parent));
    if (gone)
      parents_.erase(place);
    else
      ids_.insert(raw(block.parent));
  }
  if (ids_.empty()) return;
  for (const index::block_record& block : memory.blocks())
    if (block.allocated && ends_in(block, run) && ids_.contains(raw(block.id))) keep(block);
}

void marks_builder::put_segments() {
  for (const auto& [subject, parent] : parents_) {
    const auto known = segments_.find(raw(parent));
    if (known == segments_.end()) continue;
    const segment& current = known->second;
    const std::size_t end = current.died == trace::unknown_time ? marks_.size() : first_from(marks_, current.died);
    for (std::size_t i = first_from(marks_, current.born); i < end; ++i)
      if (marks_[i].process == current.process)
        saturating_add(totals_[i][subject].segment_bytes, counted(current.bytes));
  }
}

std::vector<program_mark> marks_builder::take() {
  put_segments();
  for (std::size_t i = 0; i < marks_.size(); ++i) {
    for (const auto& [subject, t] : totals_[i]) {
      if (t.blocks == 0 && t.segment_bytes == 0) continue;
      marks_[i].memory.push_back({subject, static_cast<std::uint64_t>(t.bytes), static_cast<std::uint64_t>(t.blocks),
                                  static_cast<std::uint64_t>(t.segment_bytes)});
    }
  }
  return std::move(marks_);
}

}  // namespace sluice::metrics
