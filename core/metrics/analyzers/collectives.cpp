#include "core/metrics/analyzers/collectives.hpp"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <set>
#include <span>
#include <utility>

namespace sluice::metrics {
namespace {

constexpr time_ns us = 1'000;

/// The kernels of a collective end within a quarter of the time between two collectives; that limit is clamped to this
/// range.
constexpr time_ns min_apart = 10 * us;
constexpr time_ns max_apart = 100 * us;
/// A receive ends at most this long after the send. Measured for 2 to 4 MiB through NVLink: 13 to 17 us.
constexpr time_ns sent_apart = 50 * us;
/// The distance between the ends of two streams' kernels in a group varies by less than this, because of the conversion
/// of GPU clocks and the network.
constexpr time_ns max_varying = 20 * us;
/// With this many kernels of a stream, its group can be determined, or that it fits none. Until then its kernels wait.
constexpr std::size_t enough = 64;
/// This many kernels suffice to assign a stream to an existing group of streams that have more. At the end of the
/// recording, all kernels seen are used, however few.
constexpr std::size_t min_kernels = 8;
/// Once this many kernels of a name are waiting, they do not wait for more.
constexpr std::size_t most_waiting = std::size_t{1} << 20;
/// At most this many kernels of two streams are compared with each other.
constexpr std::size_t max_compared = 32;
/// With more streams than this, which no real job has, none are compared.
constexpr std::size_t max_streams = 4096;
using parts = std::vector<collective_part>;

time_ns median_of(std::vector<time_ns> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// The sorted ends of a stream's kernels of one name.
struct stream_ends {
  std::vector<time_ns> ends;
  time_ns between = 0;  ///< The median time between consecutive ends.
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

/// The difference from `end` to the nearest of `ends`, which must be sorted and not empty; negative if the nearest is
/// earlier.
time_ns to_nearest(time_ns end, const std::vector<time_ns>& ends) {
  const auto after = std::lower_bound(ends.begin(), ends.end(), end);
  if (after == ends.begin()) return *after - end;
  const time_ns before = *std::prev(after) - end;
  return after == ends.end() || -before < *after - end ? before : *after - end;
}

/// The typical distance between the ends of two streams' kernels. Nothing unless four in five of the kernels that both
/// streams could have in common end together, and that distance varies little: groups that do the same work also keep
/// in step, but less exactly.
std::optional<time_ns> apart(const stream_ends& a, const stream_ends& b) {
  const time_ns most = std::clamp(std::min(a.between, b.between) / 4, min_apart, max_apart);
  const time_ns from = std::max(a.ends.front(), b.ends.front()) - most;
  const time_ns to = std::min(a.ends.back(), b.ends.back()) + most;
  time_ns farther = 0;
  for (const auto& [of, in] : {std::pair(&a.ends, &b.ends), std::pair(&b.ends, &a.ends)}) {
    const auto first = std::lower_bound(of->begin(), of->end(), from);
    const auto count = static_cast<std::size_t>(std::upper_bound(first, of->end(), to) - first);
    const auto both = std::span(*of).subspan(static_cast<std::size_t>(first - of->begin()), count);
    const std::size_t compared = std::min(both.size(), max_compared);
    if (compared < min_kernels) return std::nullopt;
    std::vector<time_ns> distances;
    std::size_t others = 0;
    for (std::size_t i = 0; i < compared; ++i) {
      distances.push_back(to_nearest(both[i * both.size() / compared], *in));
      if (std::abs(distances.back()) > most && ++others * 5 > compared) return std::nullopt;
    }
    const time_ns usual = median_of(distances);
    for (time_ns& each : distances) each = std::abs(each - usual);
    if (median_of(std::move(distances)) > max_varying) return std::nullopt;
    farther = std::max(farther, std::abs(usual));
  }
  return farther;
}

}  // namespace

void collective_matcher::add(trace::string_id name, bool sends, parts made, time_ns end, const take_wait& waited) {
  kernels& of = names_[name];
  of.sends = sends;
  of.count += made.size();
  of.open.insert(of.open.end(), made.begin(), made.end());
  // Determine the groups again whenever the number of kernels has doubled.
  if (tells_groups_apart(of) && (of.count / 2 >= of.looked || of.open.size() > most_waiting)) {
    of.looked = of.count;
    learn(of, of.open.size() > most_waiting);
  }
  match(of, end, waited);
}

void collective_matcher::finish(const take_wait& waited) {
  for (auto& [name, of] : names_) {
    if (tells_groups_apart(of)) learn(of, true);
    match(of, latest_time, waited);
  }
  names_.clear();
}

void collective_matcher::learn(kernels& of, bool last) {
  lanes all;
  for (const collective_part& each : of.open) all[{each.process, each.stream}].push_back(each.when);
  struct group {
    stream_ends first;  ///< The ends of one stream of the group.
    std::vector<lane> members{};
    std::set<trace::process_id> processes{};
  };
  std::vector<group> groups;
  // At the end of a section, some ranks may have one kernel fewer than others.
  const auto sort_into_groups = [&](std::size_t least, std::size_t most, bool may_begin) {
    for (const auto& [which, list] : all) {
      if (list.size() < least || list.size() > most) continue;
      const stream_ends ends = ends_of(list);
      group* best = nullptr;
      time_ns nearest = 0;
      for (group& each : groups) {
        if (each.processes.contains(which.process)) continue;
        const std::optional<time_ns> away = apart(ends, each.first);
        if (!away || (best != nullptr && *away >= nearest)) continue;
        best = &each;
        nearest = *away;
      }
      if (best == nullptr && !may_begin) continue;
      if (best == nullptr) best = &groups.emplace_back(group{.first = ends});
      best->members.push_back(which);
      best->processes.insert(which.process);
    }
  };
  if (all.size() <= max_streams) {
    sort_into_groups(last ? min_kernels : enough, SIZE_MAX, true);
    if (!last) sort_into_groups(min_kernels, enough - 1, false);
  }
  for (const group& each : groups) {
    ++of.numbers;
    for (const lane& member : each.members) of.groups[member] = each.members.size() > 1 ? of.numbers : fits_none;
  }
  if (!last) return;
  for (const auto& [which, list] : all) of.groups.try_emplace(which, too_few);
}

void collective_matcher::match(kernels& of, time_ns end, const take_wait& waited) {
  if (of.sends && ranks_ > 2) return match_sends(end, of.open, waited);
  std::map<std::size_t, parts> by_group;
  for (const collective_part& each : std::exchange(of.open, {})) {
    const auto found = of.groups.find({each.process, each.stream});
    if (tells_groups_apart(of) && found == of.groups.end())
      of.open.push_back(each);
    else if (const std::size_t number = found == of.groups.end() ? too_few : found->second; number != fits_none)
      by_group[number].push_back(each);
  }
  for (auto& [number, all] : by_group) match_group(std::move(all), end, of.open, waited);
}

void collective_matcher::match_group(parts all, time_ns end, parts& open, const take_wait& waited) {
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.when.begin < b.when.begin; });
  std::set<trace::process_id> members;
  std::size_t first = 0;
  time_ns first_end = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].when.begin >= first_end || members.contains(all[i].process)) {
      count_waits(all.data() + first, all.data() + i, waited);
      members.clear();
      first = i;
      first_end = all[i].when.end;
    }
    members.insert(all[i].process);
    first_end = std::min(first_end, all[i].when.end);
  }
  if (end >= latest_time)
    count_waits(all.data() + first, all.data() + all.size(), waited);
  else
    open.insert(open.end(), all.begin() + static_cast<std::ptrdiff_t>(first), all.end());
}

void collective_matcher::match_sends(time_ns end, parts& open, const take_wait& waited) {
  parts all = std::exchange(open, {});
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.when.end < b.when.end; });
  std::set<trace::process_id> members;
  std::size_t first = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool together = i > first && all[i].when.end - all[i - 1].when.end <= sent_apart &&
                          all[i].when.begin < all[first].when.end && !members.contains(all[i].process);
    if (!together) {
      count_waits(all.data() + first, all.data() + i, waited);
      members.clear();
      first = i;
    }
    members.insert(all[i].process);
    // The kernels that end together with this kernel may begin in the next section.
    if (end >= latest_time || all[i].when.end + sent_apart <= end) continue;
    open.assign(all.begin() + static_cast<std::ptrdiff_t>(first), all.end());
    return;
  }
  count_waits(all.data() + first, all.data() + all.size(), waited);
}

void collective_matcher::count_waits(const collective_part* first, const collective_part* last,
                                     const take_wait& waited) {
  if (last - first < 2) return;
  time_ns shortest = first->when.length();
  for (const collective_part* each = first; each != last; ++each) shortest = std::min(shortest, each->when.length());
  for (const collective_part* each = first; each != last; ++each) waited(each->process, each->when.length() - shortest);
}

}  // namespace sluice::metrics
