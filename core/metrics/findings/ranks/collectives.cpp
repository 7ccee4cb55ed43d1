#include "core/metrics/findings/ranks/collectives.hpp"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <set>
#include <span>
#include <utility>

namespace sluice::metrics {
namespace {

constexpr time_ns us = 1'000;

/// The kernels of a collective end within a quarter of the time between two collectives. This limit is clamped to this
/// range.
constexpr time_ns min_apart = 10 * us;
constexpr time_ns max_apart = 100 * us;
/// A receive ends at most this long after the send. With 2 to 4 MiB through NVLink, 13 to 17 us were measured.
constexpr time_ns sent_apart = 50 * us;
/// The distance between the ends of two streams' kernels in a group varies by less than this, because of the conversion
/// of GPU clocks and the network.
constexpr time_ns max_varying = 20 * us;
/// The number of kernels with which the group of a stream can be determined, or that the stream fits no group. Until
/// then, the kernels of the stream wait.
constexpr std::size_t enough = 64;
/// This many kernels suffice to assign a stream to an existing group of streams that have more kernels. At the end of
/// the recording, all kernels are used, even if there are fewer.
constexpr std::size_t min_kernels = 8;
/// Once this many kernels of a name are waiting, they do not wait for more kernels.
constexpr std::size_t most_waiting = std::size_t{1} << 20;
/// At most this many kernels of two streams are compared with each other.
constexpr std::size_t max_compared = 32;
/// If there are more streams than this, which no real job has, no streams are compared.
constexpr std::size_t max_streams = 4096;
using parts = std::vector<collective_part>;

time_ns compute_median(std::vector<time_ns> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// The sorted ends of a stream's kernels of one name.
struct stream_ends {
  std::vector<time_ns> ends;
  time_ns between = 0;  ///< The median time between consecutive ends.
};

stream_ends get_ends(const std::vector<time_range>& kernels) {
  stream_ends ends;
  for (const time_range& each : kernels) ends.ends.push_back(each.end);
  std::sort(ends.ends.begin(), ends.ends.end());
  std::vector<time_ns> steps;
  for (std::size_t i = 1; i < ends.ends.size(); ++i) steps.push_back(ends.ends[i] - ends.ends[i - 1]);
  if (!steps.empty()) ends.between = compute_median(std::move(steps));
  return ends;
}

/// Returns the difference from `end` to the nearest of `ends`, which must be sorted and not empty. The difference is
/// negative if the nearest end is earlier.
time_ns to_nearest(time_ns end, const std::vector<time_ns>& ends) {
  const auto after = std::lower_bound(ends.begin(), ends.end(), end);
  if (after == ends.begin()) return *after - end;
  const time_ns before = *std::prev(after) - end;
  return after == ends.end() || -before < *after - end ? before : *after - end;
}

/// Returns the typical distance between the ends of two streams' kernels. Returns nothing unless four in five of the
/// kernels that both streams could have in common end together, and the distance varies little. Groups that do the same
/// work also keep in step, but less exactly.
std::optional<time_ns> apart(const stream_ends& a, const stream_ends& b) {
  const time_ns most = std::clamp(std::min(a.between, b.between) / 4, min_apart, max_apart);
  const time_ns begin = std::max(a.ends.front(), b.ends.front()) - most;
  const time_ns to = std::min(a.ends.back(), b.ends.back()) + most;
  time_ns farther = 0;
  for (const auto& [subject, in] : {std::pair(&a.ends, &b.ends), std::pair(&b.ends, &a.ends)}) {
    const auto first = std::lower_bound(subject->begin(), subject->end(), begin);
    const auto count = static_cast<std::size_t>(std::upper_bound(first, subject->end(), to) - first);
    const auto both = std::span(*subject).subspan(static_cast<std::size_t>(first - subject->begin()), count);
    const std::size_t compared = std::min(both.size(), max_compared);
    if (compared < min_kernels) return std::nullopt;
    std::vector<time_ns> distances;
    std::size_t others = 0;
    for (std::size_t i = 0; i < compared; ++i) {
      distances.push_back(to_nearest(both[i * both.size() / compared], *in));
      if (std::abs(distances.back()) > most && ++others * 5 > compared) return std::nullopt;
    }
    const time_ns usual = compute_median(distances);
    for (time_ns& each : distances) each = std::abs(each - usual);
    if (compute_median(std::move(distances)) > max_varying) return std::nullopt;
    farther = std::max(farther, std::abs(usual));
  }
  return farther;
}

}  // namespace

void collective_matcher::add(trace::string_id name, bool sends, parts output, time_ns end, const take_wait& waited) {
  kernels& subject = names_[name];
  subject.sends = sends;
  subject.count += output.size();
  subject.open.insert(subject.open.end(), output.begin(), output.end());
  // Determine the groups again whenever the number of kernels has doubled.
  if (tells_groups_apart(subject) && (subject.count / 2 >= subject.looked || subject.open.size() > most_waiting)) {
    subject.looked = subject.count;
    learn(subject, subject.open.size() > most_waiting);
  }
  match(subject, end, waited);
}

void collective_matcher::finish(const take_wait& waited) {
  for (auto& [name, subject] : names_) {
    if (tells_groups_apart(subject)) learn(subject, true);
    match(subject, latest_time, waited);
  }
  names_.clear();
}

void collective_matcher::learn(kernels& subject, bool last) {
  lanes whole;
  for (const collective_part& each : subject.open) whole[{each.process, each.stream}].push_back(each.when);
  struct group {
    stream_ends first;  ///< The ends of one stream of the group.
    std::vector<lane> members{};
    std::set<trace::process_id> processes{};
  };
  std::vector<group> groups;
  // At the end of a section, some ranks may have one kernel fewer than others.
  const auto sort_into_groups = [&](std::size_t least, std::size_t most, bool may_begin) {
    for (const auto& [which, list] : whole) {
      if (list.size() < least || list.size() > most) continue;
      const stream_ends ends = get_ends(list);
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
  if (whole.size() <= max_streams) {
    sort_into_groups(last ? min_kernels : enough, SIZE_MAX, true);
    if (!last) sort_into_groups(min_kernels, enough - 1, false);
  }
  for (const group& each : groups) {
    ++subject.numbers;
    for (const lane& member : each.members)
      subject.groups[member] = each.members.size() > 1 ? subject.numbers : fits_none;
  }
  if (!last) return;
  for (const auto& [which, list] : whole) subject.groups.try_emplace(which, too_few);
}

void collective_matcher::match(kernels& subject, time_ns end, const take_wait& waited) {
  if (subject.sends && ranks_ > 2) return match_sends(end, subject.open, waited);
  std::map<std::size_t, parts> by_group;
  for (const collective_part& each : std::exchange(subject.open, {})) {
    const auto found = subject.groups.find({each.process, each.stream});
    if (tells_groups_apart(subject) && found == subject.groups.end())
      subject.open.push_back(each);
    else if (const std::size_t number = found == subject.groups.end() ? too_few : found->second; number != fits_none)
      by_group[number].push_back(each);
  }
  for (auto& [number, whole] : by_group) match_group(std::move(whole), end, subject.open, waited);
}

void collective_matcher::match_group(parts whole, time_ns end, parts& open, const take_wait& waited) {
  std::sort(whole.begin(), whole.end(), [](const auto& a, const auto& b) { return a.when.begin < b.when.begin; });
  std::set<trace::process_id> members;
  std::size_t first = 0;
  time_ns first_end = 0;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    if (whole[i].when.begin >= first_end || members.contains(whole[i].process)) {
      count_waits(whole.data() + first, whole.data() + i, waited);
      members.clear();
      first = i;
      first_end = whole[i].when.end;
    }
    members.insert(whole[i].process);
    first_end = std::min(first_end, whole[i].when.end);
  }
  if (end >= latest_time)
    count_waits(whole.data() + first, whole.data() + whole.size(), waited);
  else
    open.insert(open.end(), whole.begin() + static_cast<std::ptrdiff_t>(first), whole.end());
}

void collective_matcher::match_sends(time_ns end, parts& open, const take_wait& waited) {
  parts whole = std::exchange(open, {});
  std::sort(whole.begin(), whole.end(), [](const auto& a, const auto& b) { return a.when.end < b.when.end; });
  std::set<trace::process_id> members;
  std::size_t first = 0;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    const bool together = i > first && whole[i].when.end - whole[i - 1].when.end <= sent_apart &&
                          whole[i].when.begin < whole[first].when.end && !members.contains(whole[i].process);
    if (!together) {
      count_waits(whole.data() + first, whole.data() + i, waited);
      members.clear();
      first = i;
    }
    members.insert(whole[i].process);
    // The kernels that end together with this kernel may begin in the next section.
    if (end >= latest_time || whole[i].when.end + sent_apart <= end) continue;
    open.assign(whole.begin() + static_cast<std::ptrdiff_t>(first), whole.end());
    return;
  }
  count_waits(whole.data() + first, whole.data() + whole.size(), waited);
}

void collective_matcher::count_waits(const collective_part* first, const collective_part* last,
                                     const take_wait& waited) {
  if (last - first < 2) return;
  const collective_part* late =
      std::min_element(first, last, [](const auto& a, const auto& b) { return a.when.length() < b.when.length(); });
  for (const collective_part* each = first; each != last; ++each) {
    const time_ns length = each->when.length() - late->when.length();
    waited({each->process, late->process, length, std::clamp<time_ns>(late->idle - each->idle, 0, length)});
  }
}

}  // namespace sluice::metrics
