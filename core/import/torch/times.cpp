// Removes invalid times of a snapshot, which are 0 or years away from all others.
#include <algorithm>
#include <vector>

#include "core/import/torch/snapshot.hpp"

namespace sluice::importing::torch {
namespace {

constexpr std::int64_t longest_us = std::int64_t{366} * 24 * 3600 * 1'000'000;  // The longest possible history.

template <class Use>
void for_each_time(snapshot& recording, Use&& use) {
  for (history& each : recording.histories)
    for (history_entry& e : each.entries) use(e.time_us, true);
  for (annotation& each : recording.annotations) use(each.time_us, false);
}

}  // namespace

std::int64_t first_time(const snapshot& recording) {
  std::int64_t first = INT64_MAX;
  for (const history& each : recording.histories)
    for (const history_entry& e : each.entries)
      if (e.time_us != no_time) first = std::min(first, e.time_us);
  for (const annotation& each : recording.annotations)
    if (each.time_us != no_time) first = std::min(first, each.time_us);
  return first == INT64_MAX ? 0 : first;
}

trace::time_ns get_begin(const snapshot& recording, std::int64_t origin_us) {
  const auto frees = [](const history_entry& e) {
    return e.kind == action::free_requested || e.kind == action::free_completed || e.kind == action::segment_free ||
           e.kind == action::segment_unmap;
  };
  for (const history& each : recording.histories) {
    for (const history_entry& e : each.entries) {
      const bool first = e.time_us == no_time ? &e == each.entries.data() : e.time_us <= origin_us;
      if (!first) break;
      if (frees(e)) return -1;
    }
  }
  return 0;
}

void drop_impossible_times(snapshot& recording, job& work) {
  std::vector<std::int64_t> times;
  for_each_time(recording, [&](std::int64_t time, bool) {
    if (time != no_time && time != 0) times.push_back(time);
  });
  if (times.empty()) return;
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  const std::int64_t usual = *middle;
  std::uint64_t entries = 0;
  const auto is_impossible = [&](std::int64_t time) {
    return time != no_time && (time < usual - longest_us || time > usual + longest_us);
  };
  for_each_time(recording, [&](std::int64_t& time, bool of_entry) {
    if (!of_entry || !is_impossible(time)) return;
    time = no_time;
    ++entries;
  });
  if (entries != 0) work.not_understood("entries with an impossible time; estimated from their order", entries);
  const std::size_t before = recording.annotations.size();
  std::erase_if(recording.annotations, [&](const annotation& each) { return is_impossible(each.time_us); });
  if (before != recording.annotations.size())
    work.not_understood("annotations with an impossible time", before - recording.annotations.size());
}

}  // namespace sluice::importing::torch
