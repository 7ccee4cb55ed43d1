#include "core/index/chunk_index.hpp"

#include "core/index/recording_facts.hpp"

namespace sluice::index {
namespace {

bool overlaps(const chunk_reach& reach, time_range run) { return reach.time < run.end && reach.end >= run.begin; }

/// Extends `reach` so that it also covers `by`.
void widen(chunk_reach& reach, const chunk_reach& by) {
  reach.time = std::min(reach.time, by.time);
  reach.end = std::max(reach.end, by.end);
  reach.lowest_event = std::min(reach.lowest_event, by.lowest_event);
  reach.highest_event = std::max(reach.highest_event, by.highest_event);
  reach.lowest_block = std::min(reach.lowest_block, by.lowest_block);
  reach.highest_block = std::max(reach.highest_block, by.highest_block);
}

}  // namespace

chunk_index::chunk_index(std::shared_ptr<const trace::snapshot> recording) : from_(std::move(recording)) {
  from_->for_each_summary(trace::row_type::chunk_reach, [&](const trace::chunk_info& chunk) {
    // The highest event is unknown (0) if this reader read the file while it was being written, up to its end.
    const std::uint64_t highest = chunk.highest_event == 0 ? UINT64_MAX : chunk.highest_event;
    pages_.push_back({{chunk.min_time, chunk.max_time, 0, chunk.lowest_event, highest, 0, UINT64_MAX}, chunk});
  });
}

void chunk_index::add(const chunk_reach& next, trace::row_type type) {
  if (known_.size() % known_a_page == 0) pages_.push_back({next, {}});
  widen(pages_.back().all, next);
  known_.push_back(next);
  if (matters_everywhere(type, false)) far_.push_back({static_cast<std::size_t>(next.chunk), type});
}

result<std::vector<std::size_t>> chunk_index::in(time_range run, bool samples_known) const {
  auto found = find([=](const chunk_reach& reach) { return overlaps(reach, run); },
                    trace::column_set<chunk_reach>::of(&chunk_reach::time, &chunk_reach::end));
  if (!found) return found;
  for (const far_chunk& each : far_)
    if (matters_everywhere(each.type, samples_known)) found->push_back(each.chunk);
  if (from_ != nullptr) {
    from_->chunks_to_search().for_each([=](trace::row_type type) { return matters_everywhere(type, samples_known); },
                                       [&](std::size_t chunk, const trace::chunk_info&) { found->push_back(chunk); });
  }
  std::sort(found->begin(), found->end());
  found->erase(std::unique(found->begin(), found->end()), found->end());
  return found;
}

}  // namespace sluice::index
