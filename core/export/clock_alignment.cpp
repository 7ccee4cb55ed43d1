#include "core/export/clock_alignment.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

namespace sluice::exports {
namespace {

using trace::time_ns;

constexpr std::uint64_t least_matches = 8;
/// Clocks of machines that are kept in time differ by less.
constexpr time_ns patience = 500'000'000;

bool is_collective(std::string_view name) {
  constexpr std::array<std::string_view, 3> words = {"ncclDevKernel_", "ncclKernel_", "ncclDevFunc_"};
  // A mangled name has its length before it.
  const std::size_t within = name.starts_with("_Z") ? 8 : 1;
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
    return name.substr(0, within + word.size() - 1).find(word) != std::string_view::npos;
  });
}

/// The k-th with the k-th where both have as many; else each with the nearest by the clocks so far.
void match(const std::vector<time_ns>& first, const std::vector<time_ns>& other, time_ns offset,
           std::vector<time_ns>& differences) {
  const auto add = [&](time_ns a, time_ns b) {
    if (std::abs(a - b) <= patience) differences.push_back(a - b);
  };
  if (first.size() == other.size()) {
    for (std::size_t i = 0; i < first.size(); ++i) add(first[i], other[i] + offset);
    return;
  }
  for (const time_ns end : other) {
    const time_ns at = end + offset;
    const auto after = std::lower_bound(first.begin(), first.end(), at);
    time_ns nearest = INT64_MAX / 4;
    if (after != first.end()) nearest = *after;
    if (after != first.begin() && at - *std::prev(after) < std::abs(nearest - at)) nearest = *std::prev(after);
    add(nearest, at);
  }
}

}  // namespace

result<collective_ends> find_collectives(const trace::snapshot& from) {
  std::map<std::uint64_t, collective_ends> by_process;
  std::map<std::uint64_t, bool> known;  // By string.
  auto read = from.for_each<trace::kernel_event>([&](const trace::kernel_event& row) {
    const auto [at, fresh] = known.try_emplace(raw(row.name), false);
    if (fresh) at->second = is_collective(from.tables().text(row.name));
    if (at->second && row.end != trace::unknown_time)
      by_process[raw(row.process)][std::string(from.tables().text(row.name))].push_back(row.end);
  });
  if (!read) return tl::unexpected(read.error());
  if (by_process.empty()) return collective_ends{};
  collective_ends& ends = by_process.begin()->second;
  for (auto& [name, times] : ends) std::sort(times.begin(), times.end());
  return ends;
}

std::int64_t realtime_at_zero(const trace::snapshot& from) {
  if (from.realtime_origin() != 0) return from.realtime_origin();
  std::int64_t origin = 0;
  static_cast<void>(from.for_each<trace::clock_anchor_event>([&](const trace::clock_anchor_event& row) {
    if (origin == 0 && row.realtime != 0) origin = row.realtime - row.time;
  }));
  return origin;
}

clock_offset align(std::int64_t first_realtime, const collective_ends& first, std::int64_t other_realtime,
                   const collective_ends& other) {
  clock_offset found;
  if (first_realtime != 0 && other_realtime != 0) {
    found.offset = other_realtime - first_realtime;
    found.from = clock_offset::basis::realtime;
  }
  std::vector<time_ns> differences;
  for (const auto& [name, ends] : other) {
    if (const auto same = first.find(name); same != first.end()) match(same->second, ends, found.offset, differences);
  }
  found.matched = differences.size();
  if (found.matched < least_matches) return found;
  std::sort(differences.begin(), differences.end());
  found.corrected = differences[differences.size() / 2];
  found.offset += found.corrected;
  found.from = clock_offset::basis::collectives;
  for (time_ns& each : differences) each = std::abs(each - found.corrected);
  std::sort(differences.begin(), differences.end());
  found.error = differences[differences.size() * 9 / 10];
  return found;
}

}  // namespace sluice::exports
