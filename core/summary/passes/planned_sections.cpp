#include "core/summary/passes/planned_sections.hpp"

#include <algorithm>

#include "core/index/event_store.hpp"
#include "core/timeline/tile_grid.hpp"

namespace sluice::summary {
namespace {

/// A tile has bins for each stream and curve of each process. If there are more processes than this, sections are made
/// longer, so that tiles have fewer bins than there are events below them. They are at most eight times as long,
/// because the event store of a section must fit into memory.
constexpr double usual_processes = 8;
constexpr double times_as_long = 8;

double find_target(const trace::snapshot& trace, double events) {
  const auto processes = static_cast<double>(trace.tables().processes.rows().size());
  return std::max(events * std::clamp(processes / usual_processes, 1.0, times_as_long), 1.0);
}

}  // namespace

bool has_times(const trace::chunk_info& chunk) {
  return trace::is_event(chunk.type) && chunk.type != trace::row_type::attribute && chunk.type != trace::row_type::link;
}

std::uint64_t events_in(const trace::snapshot& trace) {
  std::uint64_t events = 0;
  for (const trace::chunk_info& chunk : trace.chunks()) events += trace::is_event(chunk.type) ? chunk.rows : 0;
  return events;
}

trace::time_ns newest_begin(std::span<const trace::chunk_info> chunks) {
  trace::time_ns newest = -latest_time;
  for (const trace::chunk_info& chunk : chunks)
    if (has_times(chunk)) newest = std::max(newest, bounded(chunk.min_time));
  return newest;
}

std::vector<trace::section_row> planned_sections(const trace::snapshot& trace, double events,
                                                 std::span<const trace::section_row> settled) {
  const time_range span = index::recorded_range(trace);
  return timeline::plan_sections(span.begin, span.end - 1, trace.chunks(), find_target(trace, events), settled);
}

std::vector<trace::section_row> next_sections(const trace::snapshot& growing, double events,
                                              std::span<const trace::section_row> settled, trace::time_ns until) {
  const time_range span = index::recorded_range(growing);
  return timeline::plan_next_sections(span.begin, span.end - 1, growing.chunks(), find_target(growing, events), settled,
                                      until);
}

}  // namespace sluice::summary
