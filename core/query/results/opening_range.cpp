#include "core/query/results/opening_range.hpp"

#include <algorithm>

namespace sluice::query {
namespace {

constexpr std::size_t shown_steps = 12;  ///< At 100 pixels each, they fill a window of usual width.
constexpr double growth = 1.1;  ///< A late step that needs this factor of an early one shows growth, and not noise.

/// Adds 2 % on either side, so that the first and the last step are seen to begin and end.
time_range with_air(time_range of, time_range active) {
  of.end = std::min(of.end, active.end);  // The last marked step lasts until the end of the recording.
  const time_ns air = of.length() / 50;
  return {std::max(active.begin, of.begin - air), std::min(active.end, of.end + air)};
}

bool grows(std::span<const index::step> steady, const std::function<double(time_range)>& highest_memory) {
  const std::size_t part = std::max<std::size_t>(steady.size() / 8, 1);
  const auto highest = [&](std::span<const index::step> of) {
    double most = 0;
    for (const index::step& each : of) most = std::max(most, highest_memory(each.span));
    return most;
  };
  // The last step may be cut off, or may already free what the program held.
  const std::span<const index::step> whole = steady.first(steady.size() - 1);
  return highest(whole.last(std::min(part, whole.size()))) >
         growth * highest(whole.first(std::min(part, whole.size())));
}

}  // namespace

time_range choose_opening(time_range active, time_range work, std::span<const index::step> steps,
                          const std::function<double(time_range)>& highest_memory) {
  while (!steps.empty() && steps.front().span.begin < active.begin) steps = steps.subspan(1);
  while (!steps.empty() && steps.back().span.begin >= active.end) steps = steps.first(steps.size() - 1);
  if (steps.size() < 2)
    return work.length() > 0 && work.length() < active.length() / 2 ? with_air(work, active) : active;
  const time_range all = with_air({steps.front().span.begin, steps.back().span.end}, active);
  const std::span<const index::step> steady = steps.subspan(steps.size() / 4);
  if (steady.size() <= shown_steps || grows(steady, highest_memory)) return all;
  const std::span<const index::step> shown = steady.subspan((steady.size() - shown_steps) / 2, shown_steps);
  return with_air({shown.front().span.begin, shown.back().span.end}, active);
}

}  // namespace sluice::query
