#include "core/figures/waste/collectives.hpp"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <set>
#include <span>
#include <utility>

namespace sluice::analysis {
namespace {

constexpr time_ns us = 1'000;

/// The ranks of a collective leave it within a quarter of the time between two collectives, but at least and at most
/// within these times; the shorter one is for what varies from collective to collective, and for sends and receives.
constexpr time_ns least_apart = 10 * us;
constexpr time_ns most_apart = 100 * us;
/// So many kernels of a stream tell which group it belongs to. With fewer, groups are told apart at the end.
constexpr std::size_t enough = 64;
/// Fewer tell nothing.
constexpr std::size_t least_kernels = 8;
/// Of the kernels of two streams, at most so many are compared.
constexpr std::size_t most_compared = 32;
/// With more streams, none is compared with others: no job has them.
constexpr std::size_t most_streams = 4096;
using parts = std::vector<collective_part>;

time_ns median_of(std::vector<time_ns> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// The ends of a stream's kernels of one name, in order.
struct stream_ends {
  std::vector<time_ns> ends;
  time_ns between = 0;  ///< The median time from one to the next.
};

stream_ends ends_of(const std::vector<time_range>& kernels) {
  stream_ends made;
  for (const time_range& each : kernels) made.ends.push_back(each.end);
  std::sort(made.ends.begin(), made.ends.end());
  std::vector<time_ns> steps;
  for (std::size_t i = 1; i < made.ends.size(); ++i) steps.push_back(made.ends[i] - made.ends[i - 1]);
  if (!steps.empty()) made.between = median_of(std::move(steps));
  return made;
}

/// From `end` to the nearest of the sorted `ends`, of which there is at least one; negative if that is earlier.
time_ns to_nearest(time_ns end, const std::vector<time_ns>& ends) {
  const auto after = std::lower_bound(ends.begin(), ends.end(), end);
  if (after == ends.begin()) return *after - end;
  const time_ns before = *std::prev(after) - end;
  return after == ends.end() || -before < *after - end ? before : *after - end;
}

/// How far apart two streams' kernels end, typically, if four in five of those that both could have end together, and
/// that varies little: groups that do the same work keep step, too, but not as exactly.
std::optional<time_ns> apart(const stream_ends& a, const stream_ends& b) {
  const time_ns most = std::clamp(std::min(a.between, b.between) / 4, least_apart, most_apart);
  const time_ns from = std::max(a.ends.front(), b.ends.front()) - most;
  const time_ns to = std::min(a.ends.back(), b.ends.back()) + most;
  time_ns farther = 0;
  for (const auto& [of, in] : {std::pair(&a.ends, &b.ends), std::pair(&b.ends, &a.ends)}) {
    const auto first = std::lower_bound(of->begin(), of->end(), from);
    const std::span<const time_ns> both(first, std::upper_bound(first, of->end(), to));
    const std::size_t compared = std::min(both.size(), most_compared);
    if (compared < least_kernels) return std::nullopt;
    std::vector<time_ns> distances;
    std::size_t others = 0;
    for (std::size_t i = 0; i < compared; ++i) {
      distances.push_back(to_nearest(both[i * both.size() / compared], *in));
      if (std::abs(distances.back()) > most && ++others * 5 > compared) return std::nullopt;
    }
    const time_ns usual = median_of(distances);
    for (time_ns& each : distances) each = std::abs(each - usual);
    if (median_of(std::move(distances)) > least_apart) return std::nullopt;
    farther = std::max(farther, std::abs(usual));
  }
  return farther;
}

}  // namespace

void collective_matcher::add(trace::string_id name, bool sends, parts made, time_ns end) {
  kernels& of = names_[name];
  of.sends = sends;
  of.count += made.size();
  of.open.insert(of.open.end(), made.begin(), made.end());
  if (tells_groups_apart(of)) {
    std::map<lane, std::size_t> sizes;
    std::size_t busiest = 0;
    for (const collective_part& each : of.open) busiest = std::max(busiest, ++sizes[{each.process, each.stream}]);
    if (busiest < enough && of.learned == 0) return;
    if (busiest >= enough && of.count / 2 >= of.learned) learn(of);
  }
  match(of, end);
}

void collective_matcher::finish() {
  for (auto& [name, of] : names_) {
    if (tells_groups_apart(of) && of.learned == 0) learn(of);
    match(of, latest_time);
  }
  names_.clear();
}

void collective_matcher::learn(kernels& of) {
  of.learned = of.count;
  lanes all;
  for (const collective_part& each : of.open) all[{each.process, each.stream}].push_back(each.when);
  struct group {
    std::size_t number = 0;
    stream_ends first;  ///< Of one of its streams.
    std::set<trace::process_id> members{};
  };
  if (all.size() > most_streams) return;
  std::vector<group> groups;
  std::size_t next = 0;
  for (const auto& [of_lane, number] : of.groups) next = std::max(next, number);
  for (const auto& [which, list] : all) {
    if (list.size() < least_kernels) continue;
    const stream_ends ends = ends_of(list);
    group* best = nullptr;
    time_ns nearest = 0;
    for (group& each : groups) {
      if (each.members.contains(which.process)) continue;
      const std::optional<time_ns> away = apart(ends, each.first);
      if (!away || (best != nullptr && *away >= nearest)) continue;
      best = &each;
      nearest = *away;
    }
    if (best == nullptr) best = &groups.emplace_back(group{.number = ++next, .first = ends});
    best->members.insert(which.process);
    of.groups[which] = best->number;
  }
}

void collective_matcher::match(kernels& of, time_ns end) {
  if (of.sends && ranks_ > 2) return match_sends(end, of.open);
  std::map<std::size_t, parts> by_group;
  std::map<std::size_t, std::set<trace::process_id>> members;
  for (const auto& [which, number] : of.groups) members[number].insert(which.process);
  for (const collective_part& each : std::exchange(of.open, {})) {
    const auto found = of.groups.find({each.process, each.stream});
    const std::size_t number = found == of.groups.end() ? 0 : found->second;
    if (number == 0 || members[number].size() > 1) by_group[number].push_back(each);
  }
  for (auto& [number, all] : by_group) match_group(std::move(all), end, of.open);
}

void collective_matcher::match_group(parts all, time_ns end, parts& open) {
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.when.begin < b.when.begin; });
  std::set<trace::process_id> members;
  std::size_t first = 0;
  time_ns first_end = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].when.begin >= first_end || members.contains(all[i].process)) {
      count_waits(all.data() + first, all.data() + i);
      members.clear();
      first = i;
      first_end = all[i].when.end;
    }
    members.insert(all[i].process);
    first_end = std::min(first_end, all[i].when.end);
  }
  if (end >= latest_time)
    count_waits(all.data() + first, all.data() + all.size());
  else
    open.insert(open.end(), all.begin() + static_cast<std::ptrdiff_t>(first), all.end());
}

void collective_matcher::match_sends(time_ns end, parts& open) {
  parts all = std::exchange(open, {});
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.when.end < b.when.end; });
  std::set<trace::process_id> members;
  std::size_t first = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool together = i > first && all[i].when.end - all[i - 1].when.end <= least_apart &&
                          all[i].when.begin < all[first].when.end && !members.contains(all[i].process);
    if (!together) {
      count_waits(all.data() + first, all.data() + i);
      members.clear();
      first = i;
    }
    members.insert(all[i].process);
    // What ends together with this one may begin in the next section.
    if (end >= latest_time || all[i].when.end + least_apart <= end) continue;
    open.assign(all.begin() + static_cast<std::ptrdiff_t>(first), all.end());
    return;
  }
  count_waits(all.data() + first, all.data() + all.size());
}

void collective_matcher::count_waits(const collective_part* first, const collective_part* last) {
  if (last - first < 2) return;
  time_ns shortest = first->when.length();
  for (const collective_part* each = first; each != last; ++each) shortest = std::min(shortest, each->when.length());
  for (const collective_part* each = first; each != last; ++each)
    waited_(each->process, each->when.length() - shortest);
}

}  // namespace sluice::analysis
