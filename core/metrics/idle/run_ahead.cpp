#include "core/metrics/idle/run_ahead.hpp"

#include <algorithm>
#include <limits>
#include <span>
#include <tuple>
#include <unordered_map>

#include "core/base/saturating.hpp"

namespace sluice::metrics {
namespace {

/// A work item that begins later than this (ns) after its predecessor on the stream has waited for something else.
constexpr time_ns usual_delay = 5'000;
/// The number of work items of each other stream that are examined to find the item that a work item waited for.
constexpr std::size_t looked_at = 64;

/// If a device is idle for longer than this (ns) while the host does its own work, earlier gains are not carried past
/// that interval. The program is then starting, compiling, saving or reading, so the phases before and after the
/// interval are evaluated separately.
constexpr time_ns longest_carried = 5'000'000;

/// A replayed work item.
struct played {
  time_ns end = 0;      ///< The end of the work item in the recording.
  time_ns new_end = 0;  ///< The end of the work item in the simulated run.
};

/// Merges the sorted calls into non-overlapping intervals in which the host was blocked.
std::vector<time_range> joined(std::vector<time_range> calls) {
  std::sort(calls.begin(), calls.end(), [](const time_range& a, const time_range& b) { return a.begin < b.begin; });
  std::vector<time_range> ranges;
  for (const time_range& each : calls) {
    if (!ranges.empty() && each.begin <= ranges.back().end)
      ranges.back().end = std::max(ranges.back().end, each.end);
    else
      ranges.push_back(each);
  }
  return ranges;
}

/// Returns the shortest time from the request of a work item to its start.
time_ns launch_time(std::span<const queued_work> works) {
  time_ns least = std::numeric_limits<time_ns>::max();
  for (const queued_work& each : works) least = std::min(least, each.begin - each.enqueued);
  return std::max<time_ns>(least, 0);
}

class simulated_run {
 public:
  explicit simulated_run(time_ns launch) : launch_(launch) {}

  /// Replays the work item that is requested at `called`, and returns its new end. The item must not begin before
  /// `earliest`. Work items must be replayed in the order of their requests.
  time_ns play(const queued_work& work, time_ns called, time_ns earliest) {
    std::vector<played>& stream = streams_[work.stream];
    const bool behind = !stream.empty() && stream.back().end > work.enqueued;
    const time_ns since_call = work.begin - work.enqueued;
    const time_ns delay = behind ? work.begin - stream.back().end : since_call;
    const played* const other = delay > usual_delay ? last_before(work) : nullptr;
    const bool at_once = !behind && other == nullptr;
    time_ns begin = called + (at_once ? since_call : std::min(launch_, since_call));
    if (!stream.empty()) {
      const time_ns after_last = !behind ? 0 : other == nullptr ? delay : usual_delay;
      begin = std::max(begin, stream.back().new_end + after_last);
    }
    if (other != nullptr) begin = std::max(begin, other->new_end + (work.begin - other->end));
    if (work.engine != 0) {
      played& last = engines_[work.engine];
      if (last.end <= work.begin) begin = std::max(begin, last.new_end);
      if (last.end < work.end) last = {work.end, std::max(last.new_end, begin + (work.end - work.begin))};
    }
    begin = std::max(begin, earliest);
    stream.push_back({work.end, begin + (work.end - work.begin)});
    last_ = std::max(last_, stream.back().new_end);
    return stream.back().new_end;
  }

  [[nodiscard]] time_ns last() const { return last_; }

 private:
  /// Finds the last work on other streams that ended before this work item began and after it was requested.
  [[nodiscard]] const played* last_before(const queued_work& work) const {
    const played* best = nullptr;
    for (const auto& [stream, whole] : streams_) {
      if (stream == work.stream) continue;
      std::size_t left = looked_at;
      for (auto each = whole.rbegin(); each != whole.rend() && left > 0; ++each, --left) {
        if (each->end > work.begin) continue;
        if (each->end > work.enqueued &&
            (best == nullptr || std::tie(each->end, each->new_end) > std::tie(best->end, best->new_end)))
          best = &*each;
        break;
      }
    }
    return best;
  }

  const time_ns launch_;
  std::unordered_map<std::uint32_t, std::vector<played>> streams_;
  std::unordered_map<std::uint8_t, played> engines_;  ///< The work that ended last on each engine.
  time_ns last_ = std::numeric_limits<time_ns>::min();
};

/// Returns the gain for one stretch of work. `works` are sorted by request time, `stood_still` by time, and `orders` by
/// the second work item.
time_ns gain_of_stretch(std::span<const queued_work> works, std::span<const time_range> stood_still,
                        std::span<const work_order> orders) {
  simulated_run again(launch_time(works));
  time_ns last = std::numeric_limits<time_ns>::min();
  time_ns won = 0;  // The time gained up to the request of the next work item.
  auto next = std::partition_point(stood_still.begin(), stood_still.end(),
                                   [&](const time_range& each) { return each.end <= works.front().enqueued; });
  auto order = std::partition_point(orders.begin(), orders.end(),
                                    [&](const work_order& each) { return each.second < works.front().enqueued; });
  std::vector<time_ns> ends;  // The replayed ends, by position in `works`.
  // Returns when the last work requested at this time would end.
  const auto get_end = [&](time_ns called) {
    const auto behind =
        std::upper_bound(works.begin(), works.begin() + static_cast<std::ptrdiff_t>(ends.size()), called,
                         [](time_ns time, const queued_work& subject) { return time < subject.enqueued; });
    if (behind == works.begin() || (behind - 1)->enqueued != called) return std::numeric_limits<time_ns>::min();
    return ends[static_cast<std::size_t>(behind - works.begin()) - 1];
  };
  for (const queued_work& each : works) {
    for (; next != stood_still.end() && next->end <= each.enqueued; ++next) won += next->length();
    // A call may first wait and then give the device work.
    const bool inside = next != stood_still.end() && next->begin < each.enqueued;
    time_ns earliest = std::numeric_limits<time_ns>::min();
    for (; order != orders.end() && order->second < each.enqueued; ++order) continue;
    for (; order != orders.end() && order->second == each.enqueued; ++order)
      earliest = std::max(earliest, get_end(order->first));
    const time_ns called = each.enqueued - won - (inside ? each.enqueued - next->begin : 0);
    ends.push_back(again.play(each, called, earliest));
    last = std::max(last, each.end);
  }
  return std::max<time_ns>(last - again.last(), 0);
}

/// Returns how long the host was blocked in `range`. O(log calls + calls in `range`).
time_ns still_in(std::span<const time_range> stood_still, time_range range) {
  auto next = std::partition_point(stood_still.begin(), stood_still.end(),
                                   [&](const time_range& each) { return each.end <= range.begin; });
  time_ns sum = 0;
  for (; next != stood_still.end() && next->begin < range.end; ++next) sum += intersect(*next, range).length();
  return sum;
}

}  // namespace

time_ns gain_of_running_ahead(std::vector<queued_work> works, std::vector<time_range> blocked,
                              std::vector<work_order> orders) {
  if (works.empty() || blocked.empty()) return 0;
  std::sort(orders.begin(), orders.end(), [](const work_order& a, const work_order& b) { return a.second < b.second; });
  // Compare all members, so that the result does not depend on the order in which work items arrive.
  const auto of_begin = [](const queued_work& subject) {
    return std::tuple(subject.begin, subject.end, subject.enqueued, subject.stream, subject.engine);
  };
  const auto of_call = [](const queued_work& target) {
    return std::tuple(target.enqueued, target.begin, target.end, target.stream, target.engine);
  };
  std::sort(works.begin(), works.end(),
            [&](const queued_work& a, const queued_work& b) { return of_begin(a) < of_begin(b); });
  const std::vector<time_range> stood_still = joined(std::move(blocked));
  time_ns gain = 0;
  time_ns until = works.front().end;
  for (auto first = works.begin(), next = first; first != works.end();) {
    for (++next; next != works.end(); ++next) {
      const time_range idle{until, next->begin};
      if (idle.length() - still_in(stood_still, idle) >= longest_carried) break;
      until = std::max(until, next->end);
    }
    std::sort(first, next, [&](const queued_work& a, const queued_work& b) { return of_call(a) < of_call(b); });
    saturating_add(gain, gain_of_stretch({&*first, static_cast<std::size_t>(next - first)}, stood_still, orders));
    first = next;
    if (next != works.end()) until = std::max(until, next->end);
  }
  return gain;
}

}  // namespace sluice::metrics
