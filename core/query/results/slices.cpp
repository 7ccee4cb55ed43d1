#include <algorithm>

#include "core/base/thread_scratch.hpp"
#include "core/index/tensor_facts.hpp"
#include "core/query/engine/bin_source.hpp"
#include "core/query/results/result_functions.hpp"

namespace sluice::query {
namespace {

bool belongs(const trace::lane_row& lane, const track& row) {
  switch (lane.what) {
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
    slice& made = to.slices.emplace_back();
    made.begin = d.item.begin;
    // A slice without an end lasts until the end of the recording.
    made.end = d.item.end == latest_time ? std::max(d.item.begin, end_of_all) : d.item.end;
    made.depth = static_cast<std::uint16_t>(depth + d.lane);
    made.kind = static_cast<slice_kind>(d.item.kind);
    made.count = d.count;
    made.busy = std::min(1.0F, d.busy);
    made.name = d.item.name;
    made.event = d.item.event;
    if (made.kind == slice_kind::step) {
      made.step = static_cast<std::int64_t>(d.item.bytes);
    } else {
      made.bytes = d.item.bytes;
    }
  }
}

/// Returns the exact steps of a file with a summary if there are so few that each is visible; tiles are less exact.
/// Empty if there are many steps or none.
std::vector<index::step> steps_to_look_at(const sources& from, const track& row, time_range range,
                                          std::uint32_t width) {
  constexpr std::uint32_t min_pixels = 4;  // The lowest average width of a step.
  if (row.kind != track_kind::steps || from.stored == nullptr || !from.stored->sections) return {};
  auto steps = from.stored->sections->store().few_steps_in(range, row.process);
  if (steps.size() > width / min_pixels) steps.clear();
  return steps;
}

slice slice_of(const index::step& step) {
  slice made;
  made.begin = step.span.begin;
  made.end = step.span.end;
  made.kind = slice_kind::step;
  made.event = step.event;
  made.step = step.number;
  return made;
}

}  // namespace

result<slice_list> result_to(const slices_query& query, const sources& from) {
  const auto row = find_track(query.track, from);
  if (!row) return tl::unexpected<error>(row.error());
  slice_list list;
  list.range = query.range;
  const time_range range = bounded(query.range);
  const std::uint32_t width = std::clamp<std::uint32_t>(query.width, 1, widest_view);
  const time_ns last = index::time_range_of(from.trace).end;
  for (const index::step& each : steps_to_look_at(from, *row, range, width)) list.slices.push_back(slice_of(each));
  if (!list.slices.empty()) return list;
  const bin_source all(from, false);
  thread_scratch<timeline::drawn_slice> drawn;
  std::size_t depth = 0;
  for (std::size_t i = 0; i < all.owners().size(); ++i) {
    if (!belongs(all.owners()[i].about, *row)) continue;
    if (const auto got = all.draw(i, range, width, *drawn); !got) return tl::unexpected<error>(got.error());
    append(*drawn, depth, last, list);
    depth += all.owners()[i].lanes;
  }
  if (row->kind == track_kind::steps && depth == 0) {
    // Steps that are not in tiles: either there are none, or the file's version does not store steps in tiles.
    const auto facts = facts_of(from);
    drawn->clear();
    if (const auto steps = facts->drawn_steps.find(row->process); steps != facts->drawn_steps.end())
      steps->second.draw(range.begin, range.end, width, *drawn);
    append(*drawn, 0, last, list);
  }
  return list;
}

}  // namespace sluice::query
