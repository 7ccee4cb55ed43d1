#include "core/export/recording/clock_alignment.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <utility>

#include "core/base/saturating.hpp"
#include "core/base/time/time_range.hpp"

namespace sluice::exports {
namespace {

constexpr std::uint64_t min_matches = 8;
constexpr std::size_t min_for_drift = 16;
/// No machine's clock drifts this fast, because NTP corrects at half this rate.
constexpr double max_drift = 1e-3;
/// Two streams fit each other if their collectives end together almost as exactly as those of the best pair of streams.
/// Their error must be at most this many times the error of the best pair, which counts as at least `exact_enough`.
constexpr time_ns as_exact = 4;
constexpr time_ns exact_enough = 5'000;
/// The most streams with collectives of one name. Further streams are ignored.
constexpr std::size_t max_streams = 16;
/// Synchronized clocks of two machines differ by less than this.
constexpr time_ns largest_offset = 500'000'000;

bool is_collective(std::string_view name) {
  constexpr std::array<std::string_view, 3> words = {"ncclDevKernel_", "ncclKernel_", "ncclDevFunc_"};
  // In a mangled name, the length precedes the name.
  const std::size_t within = name.starts_with("_Z") ? 8 : 1;
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
    return name.substr(0, within + word.size() - 1).find(word) != std::string_view::npos;
  });
}

/// The same collective on both clocks.
struct matched_end {
  time_ns time = 0;        ///< The time on the other recording's clock.
  time_ns difference = 0;  ///< The time on the first clock, minus the time on the other clock with the offset so far.
};

bool earlier(const matched_end& a, const matched_end& b) { return a.time < b.time; }

/// If both lists have the same length, matches each end with the one at the same position. Otherwise, matches each end
/// with the nearest one by the offset so far.
void match(const std::vector<time_ns>& first, const std::vector<time_ns>& other, time_ns offset,
           std::vector<matched_end>& matched) {
  const auto add = [&](time_ns a, time_ns b) {
    if (std::abs(a - b - offset) <= largest_offset) matched.push_back({b, a - b - offset});
  };
  if (first.size() == other.size()) {
    for (std::size_t i = 0; i < first.size(); ++i) add(first[i], other[i]);
    return;
  }
  for (const time_ns end : other) {
    const time_ns at = end + offset;
    const auto after = std::lower_bound(first.begin(), first.end(), at);
    time_ns nearest = INT64_MAX / 4;
    if (after != first.end()) nearest = *after;
    if (after != first.begin() && at - *std::prev(after) < std::abs(nearest - at)) nearest = *std::prev(after);
    add(nearest, end);
  }
}

/// Returns the value at `tenths` tenths of the sorted values. There must be at least one value.
template <class Number>
Number compute_share(std::vector<Number> values, std::size_t tenths) {
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(values.size() * tenths / 10);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

time_ns drifted(double drift, time_ns since) {
  return saturating_cast<time_ns>(std::round(drift * static_cast<double>(since)));
}

/// The median offset for a given drift, and an error that nine of ten collectives stay below.
struct fit {
  time_ns offset = 0;
  time_ns error = 0;
};
fit fit_offset(const std::vector<matched_end>& matched, double drift, time_ns pivot) {
  std::vector<time_ns> left;
  left.reserve(matched.size());
  for (const matched_end& each : matched)
    left.push_back(bounded(saturating_difference(each.difference, drifted(drift, each.time - pivot))));
  fit found;
  found.offset = compute_share(left, 5);
  for (time_ns& each : left) each = std::abs(each - found.offset);
  found.error = compute_share(std::move(left), 9);
  return found;
}

/// Returns the drift of matched ends, which must be in order of time.
double fit_drift(const std::vector<matched_end>& matched) {
  const std::size_t apart = matched.size() / 2;
  std::vector<double> slopes;
  for (std::size_t i = 0; i + apart < matched.size(); ++i) {
    const matched_end& a = matched[i];
    const matched_end& b = matched[i + apart];
    if (b.time > a.time)
      slopes.push_back(static_cast<double>(b.difference - a.difference) / static_cast<double>(b.time - a.time));
  }
  return slopes.empty() ? 0 : compute_share(std::move(slopes), 5);
}

/// The best fit of matched ends. They must be in order of time, and there must be at least one.
struct clock_fit {
  fit left;
  double drift = 0;
  time_ns pivot = 0;
};
clock_fit fit_clock(const std::vector<matched_end>& matched) {
  clock_fit found;
  found.pivot = matched[matched.size() / 2].time;
  found.left = fit_offset(matched, 0, found.pivot);
  if (matched.size() < min_for_drift) return found;
  const double drift = fit_drift(matched);
  const fit line = fit_offset(matched, drift, found.pivot);
  if (std::abs(drift) > max_drift || line.error >= found.left.error - found.left.error / 4) return found;
  found.left = line;
  found.drift = drift;
  return found;
}

/// Returns the error that nine of ten matched ends stay below, for a fit of other ends.
time_ns to_error(const std::vector<matched_end>& matched, const clock_fit& fit) {
  std::vector<time_ns> left;
  for (const matched_end& each : matched) {
    const time_ns expected = saturating_sum(fit.left.offset, drifted(fit.drift, each.time - fit.pivot));
    left.push_back(std::abs(bounded(saturating_difference(each.difference, expected))));
  }
  return compute_share(std::move(left), 9);
}

using stream_ends = std::vector<time_ns>;

/// Returns the ends on each stream that has collectives of this name, for at most `max_streams` streams.
std::vector<const stream_ends*> find_streams(const std::string& name, const collective_ends& in) {
  std::vector<const stream_ends*> items;
  for (auto at = in.lower_bound({name, 0}); at != in.end() && at->first.name == name && items.size() < max_streams;
       ++at)
    items.push_back(&at->second);
  return items;
}

/// True if two streams may belong to one group. Streams of one group have similar numbers of collectives, unless one
/// recording starts later or ends sooner.
bool may_be_one(const stream_ends& a, const stream_ends& b) {
  return std::min(a.size(), b.size()) >= std::max(a.size(), b.size()) / 2;
}

/// Calls `use` with the matched ends, in order of time, of each pair of streams that may belong to one group.
template <class Use>
void for_each_pair(const collective_ends& first, const collective_ends& other, time_ns offset, Use&& use) {
  for (auto next = other.begin(); next != other.end(); next = other.upper_bound({next->first.name, UINT64_MAX})) {
    const auto theirs = find_streams(next->first.name, other);
    const auto ours = find_streams(next->first.name, first);
    for (const stream_ends* a : ours)
      for (const stream_ends* b : theirs) {
        if (ours.size() + theirs.size() > 2 && !may_be_one(*a, *b)) continue;
        std::vector<matched_end> matched;
        match(*a, *b, offset, matched);
        std::sort(matched.begin(), matched.end(), earlier);
        if (!matched.empty()) use(matched);
      }
  }
}

/// Matches the collectives of both recordings that end together. Takes the two streams that fit best, and all streams
/// that fit these two. If all streams have few collectives, takes all streams. Returns the ends in order of time.
std::vector<matched_end> match_streams(const collective_ends& first, const collective_ends& other, time_ns offset) {
  std::optional<clock_fit> best;
  for_each_pair(first, other, offset, [&](const std::vector<matched_end>& matched) {
    if (matched.size() < min_for_drift) return;
    const clock_fit fit = fit_clock(matched);
    if (!best || fit.left.error < best->left.error) best = fit;
  });
  std::vector<matched_end> ends;
  for_each_pair(first, other, offset, [&](const std::vector<matched_end>& matched) {
    if (!best || to_error(matched, *best) / as_exact <= std::max(best->left.error, exact_enough))
      ends.insert(ends.end(), matched.begin(), matched.end());
  });
  std::sort(ends.begin(), ends.end(), earlier);
  return ends;
}

}  // namespace

time_ns clock_offset::moved(time_ns time) const {
  if (drift == 0) return time + offset;
  return saturating_sum(time + offset, drifted(drift, time - pivot));
}

result<collective_ends> find_collectives(const trace::snapshot& recording) {
  std::map<std::uint64_t, collective_ends> by_process;
  std::map<std::uint64_t, bool> known;  // Keyed by string id.
  using kernel = trace::kernel_event;
  const auto columns = trace::column_set<kernel>::of(&kernel::process, &kernel::name, &kernel::stream, &kernel::end);
  std::vector<kernel> rows;
  // Hundreds of recordings may be open, so this loop must not fill their caches.
  for (std::size_t i = 0; i < recording.chunks().size(); ++i) {
    if (recording.chunks()[i].type != trace::row_type::kernel) continue;
    if (auto read = recording.read_into<kernel>(i, rows, columns); !read) return tl::unexpected(read.error());
    for (const kernel& row : rows) {
      const auto [at, fresh] = known.try_emplace(raw(row.name), false);
      if (fresh) at->second = is_collective(recording.tables().text(row.name));
      if (at->second && row.end != trace::unknown_time)
        by_process[raw(row.process)][{std::string(recording.tables().text(row.name)), raw(row.stream)}].push_back(
            bounded(row.end));
    }
  }
  if (by_process.empty()) return collective_ends{};
  collective_ends& ends = by_process.begin()->second;
  for (auto& [name, times] : ends) std::sort(times.begin(), times.end());
  return ends;
}

std::int64_t realtime_at_zero(const trace::snapshot& recording) {
  if (recording.realtime_origin() != 0) return recording.realtime_origin();
  std::int64_t origin = 0;
  static_cast<void>(recording.for_each<trace::clock_anchor_event>([&](const trace::clock_anchor_event& row) {
    if (origin == 0 && row.realtime != 0) origin = saturating_difference(row.realtime, row.time);
  }));
  return origin;
}

clock_offset align(std::int64_t first_realtime, const collective_ends& first, std::int64_t other_realtime,
                   const collective_ends& other) {
  clock_offset found;
  if (first_realtime != 0 && other_realtime != 0) {
    found.offset = bounded(saturating_difference(other_realtime, first_realtime));
    found.from = clock_offset::basis::realtime;
  }
  const std::vector<matched_end> matched = match_streams(first, other, found.offset);
  found.matched = matched.size();
  if (found.matched < min_matches) return found;
  const clock_fit best = fit_clock(matched);
  found.pivot = best.pivot;
  found.drift = best.drift;
  found.corrected = best.left.offset;
  found.offset += best.left.offset;
  found.error = best.left.error;
  found.from = clock_offset::basis::collectives;
  return found;
}

}  // namespace sluice::exports
