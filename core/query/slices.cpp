#include <algorithm>

#include "core/analysis/tensors.hpp"
#include "core/query/answering.hpp"

namespace sluice::query {
namespace {

/// The slice sets of a track, the upper rows first.
std::vector<const summaries::slice_set*> sets_of(const track& row, const analysis::index& index,
                                                 const analysis::tensor_facts* facts) {
  std::vector<const summaries::slice_set*> sets;
  if (row.kind == track_kind::stream) {
    const auto found = index.devices().streams().find({row.process, row.device, row.stream});
    if (found != index.devices().streams().end()) sets.push_back(&found->second);
  } else if (row.kind == track_kind::direction) {
    const auto found = index.devices().directions().find({row.device, row.direction});
    if (found != index.devices().directions().end()) sets.push_back(&found->second.slices);
  } else if (row.kind == track_kind::host_thread) {
    const auto found = index.host().threads().find({row.process, row.thread});
    if (found != index.host().threads().end()) sets = {&found->second.ranges, &found->second.calls};
  }
  if (row.kind == track_kind::steps && facts != nullptr) {
    const auto found = facts->step_slices.find(row.process);
    if (found != facts->step_slices.end()) sets.push_back(&found->second);
  }
  return sets;
}

}  // namespace

result<slice_list> answer_to(const slices_question& question, const sources& from) {
  const auto row = find_track(question.track, from);
  if (!row) return tl::unexpected<error>(row.error());
  slice_list list;
  list.range = question.range;
  const time_range range = analysis::bounded(question.range);
  const std::uint32_t width = std::clamp<std::uint32_t>(question.width, 1, widest_view);
  const time_ns last = analysis::whole_of(from.trace).end;
  std::size_t depth = 0;
  std::vector<summaries::drawn_slice> drawn;
  const auto facts = row->kind == track_kind::steps ? from.index.tensors(from.trace) : nullptr;
  for (const summaries::slice_set* set : sets_of(*row, from.index, facts.get())) {
    drawn.clear();
    set->draw(range.begin, range.end, width, drawn);
    for (const summaries::drawn_slice& d : drawn) {
      slice made;
      made.begin = d.item.begin;
      // What has not ended lasts as long as the recording.
      made.end = d.item.end == analysis::latest_time ? std::max(d.item.begin, last) : d.item.end;
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
      list.slices.push_back(made);
    }
    depth += set->lanes();
  }
  std::stable_sort(list.slices.begin(), list.slices.end(),
                   [](const slice& a, const slice& b) { return a.begin < b.begin; });
  return list;
}

}  // namespace sluice::query
