#include <algorithm>

#include "core/base/thread_scratch.hpp"
#include "core/index/tensor_facts.hpp"
#include "core/query/results/result_functions.hpp"
#include "core/query/sources/bin_source.hpp"

namespace sluice::query {
namespace {

bool belongs(const trace::lane_row& lane, const track& row) {
  switch (lane.type) {
    case trace::lane_kind::stream:
      return row.kind == track_kind::stream && lane.process == row.process && lane.device == row.device &&
             lane.stream == row.stream;
    case trace::lane_kind::direction:
      return row.kind == track_kind::direction && lane.device == row.device && lane.way == row.direction;
    case trace::lane_kind::host_ranges:
    case trace::lane_kind::host_calls:
      return row.kind == track_kind::host_thread && lane.process == row.process && lane.thread == row.thread;
    case trace::lane_kind::steps:
      return row.kind == track_kind::steps && lane.process == row.process;
    case trace::lane_kind::unknown:
      break;
  }
  return false;
}

/// Appends drawn slices, `depth` rows below the first row of their track.
void append(const std::vector<timeline::drawn_slice>& drawn, std::size_t depth, time_ns end_of_all, slice_list& to) {
  to.slices.reserve(to.slices.size() + drawn.size());
  for (const timeline::drawn_slice& d : drawn) {
    slice& new_slice = to.slices.emplace_back();
    new_slice.begin = d.item.begin;
    // A slice without an end lasts until the end of the recording.
    new_slice.end = d.item.end == latest_time ? std::max(d.item.begin, end_of_all) : d.item.end;
    new_slice.depth = static_cast<std::uint16_t>(depth + d.lane);
    new_slice.kind = static_cast<slice_kind>(d.item.kind);
    new_slice.count = d.count;
    new_slice.busy = std::min(1.0F, d.busy);
    new_slice.name = d.item.name;
    new_slice.event = d.item.event;
    if (new_slice.kind == slice_kind::step) {
      new_slice.step = static_cast<std::int64_t>(d.item.bytes);
    } else {
      new_slice.bytes = d.item.bytes;
    }
  }
}

/// Returns the exact steps of a file with a summary if they are so few that each is visible, because tiles are less
/// exact. The result is empty if there are many steps or none.
std::vector<index::step> steps_to_look_at(const sources& source, const track& row, time_range range,
                                          std::uint32_t width) {
  constexpr std::uint32_t min_pixels = 4;  // The lowest average width of a step at which the exact steps are returned.
  if (row.kind != track_kind::steps || source.stored == nullptr || !source.stored->sections) return {};
  auto steps = source.stored->sections->store().few_steps_in(range, row.process);
  if (steps.size() > width / min_pixels) steps.clear();
  return steps;
}

slice make_slice(const index::step& step) {
  slice new_slice;
  new_slice.begin = step.span.begin;
  new_slice.end = step.span.end;
  new_slice.kind = slice_kind::step;
  new_slice.event = step.event;
  new_slice.step = step.number;
  return new_slice;
}

}  // namespace

result<slice_list> result_to(const slices_query& query, const sources& source) {
  const auto row = find_track(query.track, source);
  if (!row) return tl::unexpected<error>(row.error());
  slice_list list;
  list.range = query.range;
  const time_range range = bounded(query.range);
  const std::uint32_t width = std::clamp<std::uint32_t>(query.width, 1, widest_view);
  const time_ns last = index::recorded_range(source.trace).end;
  for (const index::step& each : steps_to_look_at(source, *row, range, width)) list.slices.push_back(make_slice(each));
  if (!list.slices.empty()) return list;
  const bin_source whole(source, false);
  thread_scratch<timeline::drawn_slice> drawn;
  std::size_t depth = 0;
  for (std::size_t i = 0; i < whole.owners().size(); ++i) {
    if (!belongs(whole.owners()[i].about, *row)) continue;
    if (const auto got = whole.draw(i, range, width, *drawn); !got) return tl::unexpected<error>(got.error());
    append(*drawn, depth, last, list);
    depth += whole.owners()[i].lanes;
  }
  if (row->kind == track_kind::steps && depth == 0) {
    // The tiles have no steps. Either there are none, or the file's version does not store steps in tiles.
    const auto facts = get_facts(source);
    drawn->clear();
    if (const auto steps = facts->drawn_steps.find(row->process); steps != facts->drawn_steps.end())
      steps->second.draw(range.begin, range.end, width, *drawn);
    append(*drawn, 0, last, list);
  }
  return list;
}

}  // namespace sluice::query
