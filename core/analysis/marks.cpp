#include "core/analysis/marks.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace sluice::analysis {
namespace {

std::vector<program_mark> marks_in(const trace::snapshot& from, time_range range) {
  std::vector<trace::marker_event> rows;
  // What cannot be read is told by whoever reads the whole file.
  static_cast<void>(from.for_each<trace::marker_event>([&](const trace::marker_event& row) {
    if (row.time >= range.begin && row.time < range.end) rows.push_back(row);
  }));
  std::sort(rows.begin(), rows.end(),
            [](const auto& a, const auto& b) { return std::tuple(a.time, a.id) < std::tuple(b.time, b.id); });
  if (rows.size() > mark_limit) rows.resize(mark_limit);
  std::vector<program_mark> marks;
  for (const trace::marker_event& row : rows) {
    marks.push_back({bounded(row.time), row.process, row.thread, row.name, row.step, {}, {}, {}});
  }
  return marks;
}

/// Something that changes a total of a process at a time.
struct change {
  time_ns time;
  trace::process_id process;
  memory_key of;
  std::int64_t bytes;
  std::int64_t blocks;
  bool of_segments;
};

std::vector<change> changes_of(const memory_use& memory) {
  std::vector<change> all;
  const auto add = [&](const block_record& block, const memory_key& of, bool of_segments) {
    const auto bytes = static_cast<std::int64_t>(block.bytes);
    all.push_back({block.born, block.process, of, bytes, 1, of_segments});
    if (block.freed()) all.push_back({block.died, block.process, of, -bytes, -1, of_segments});
  };
  std::set<std::pair<memory_key, trace::block_id>> segments;
  for (const block_record& block : memory.blocks()) {
    if (!block.allocated || block.imported()) continue;
    const memory_key of{block.device, block.level, block.kind};
    add(block, of, false);
    if (block.parent == trace::block_id::none || !segments.emplace(of, block.parent).second) continue;
    if (const block_record* segment = memory.find(block.parent); segment != nullptr) add(*segment, of, true);
  }
  std::sort(all.begin(), all.end(), [](const change& a, const change& b) { return a.time < b.time; });
  return all;
}

void add_memory(std::vector<program_mark>& marks, const memory_use& memory) {
  struct total {
    std::int64_t bytes = 0, blocks = 0, segment_bytes = 0;
  };
  std::map<std::pair<trace::process_id, memory_key>, total> totals;
  const std::vector<change> changes = changes_of(memory);
  auto next = changes.begin();
  for (program_mark& mark : marks) {
    for (; next != changes.end() && next->time <= mark.time; ++next) {
      total& t = totals[{next->process, next->of}];
      (next->of_segments ? t.segment_bytes : t.bytes) += next->bytes;
      if (!next->of_segments) t.blocks += next->blocks;
    }
    for (const auto& [key, t] : totals) {
      if (key.first != mark.process || (t.blocks == 0 && t.segment_bytes == 0)) continue;
      mark.memory.push_back({key.second, static_cast<std::uint64_t>(t.bytes), static_cast<std::uint64_t>(t.blocks),
                             static_cast<std::uint64_t>(t.segment_bytes)});
    }
  }
}

/// Calls `use(mark, id, row)` with the latest row of each id at each mark. `process_of(id)` says whose it is.
template <class Row, class Id, class Process, class Use>
void with_latest(std::vector<program_mark>& marks, const trace::snapshot& from, Id Row::*id, Process process_of,
                 Use use) {
  std::vector<Row> rows;
  static_cast<void>(from.for_each<Row>([&](const Row& row) { rows.push_back(row); }));
  std::sort(rows.begin(), rows.end(),
            [](const Row& a, const Row& b) { return std::tuple(a.time, a.id) < std::tuple(b.time, b.id); });
  std::map<Id, Row> latest;
  auto next = rows.begin();
  for (program_mark& mark : marks) {
    for (; next != rows.end() && next->time <= mark.time; ++next) latest[(*next).*id] = *next;
    for (const auto& [which, row] : latest) {
      if (process_of(which) == mark.process) use(mark, row);
    }
  }
}

}  // namespace

std::vector<program_mark> find_marks(const memory_use& memory, const trace::snapshot& from, time_range range) {
  std::vector<program_mark> marks = marks_in(from, range);
  if (marks.empty()) return marks;
  add_memory(marks, memory);
  const trace::tables& tables = from.tables();
  with_latest(
      marks, from, &trace::counter_event::counter,
      [&](trace::counter_id id) {
        const trace::counter_row* row = tables.counters.find(id);
        return row == nullptr ? trace::process_id::none : row->process;
      },
      [](program_mark& mark, const trace::counter_event& row) {
        mark.counters.push_back({row.counter, row.value});
      });
  with_latest(
      marks, from, &trace::pool_event::pool,
      [&](trace::pool_id id) {
        const trace::pool_row* row = tables.pools.find(id);
        return row == nullptr ? trace::process_id::none : row->process;
      },
      [](program_mark& mark, const trace::pool_event& row) {
        mark.pools.push_back({row.pool, row.reserved, row.used});
      });
  return marks;
}

}  // namespace sluice::analysis
