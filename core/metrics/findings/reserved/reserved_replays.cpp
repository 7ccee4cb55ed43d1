#include "core/metrics/findings/reserved/reserved_replays.hpp"

#include <algorithm>
#include <optional>

#include "core/metrics/findings/reserved/thresholds.hpp"
#include "core/metrics/findings/shared/thresholds.hpp"
#include "core/replay/replay.hpp"
#include "core/replay/requests.hpp"

namespace sluice::metrics {
namespace {

/// The settings that findings may recommend. They can be chosen without knowledge of the program's block sizes.
constexpr const char* advised[] = {"expandable_segments:True", "roundup_power2_divisions:4", "max_split_size_mb:128"};

/// Returns where a program would empty a cache that it no longer needs. This is the position with the fewest live bytes
/// shortly after more than `usual` bytes were live for the last time.
std::size_t after_the_peak(const replay::allocator_requests& requests, std::uint64_t usual) {
  std::vector<std::uint64_t> sizes(requests.blocks);
  std::vector<std::uint64_t> live{0};  // The live bytes before each request, and after the last.
  live.reserve(requests.requests.size() + 1);
  for (const replay::request& each : requests.requests) {
    std::uint64_t now = live.back();
    if (each.kind == replay::request_kind::allocate) now += sizes[each.block] = each.bytes;
    if (each.kind == replay::request_kind::free) now -= sizes[each.block];
    live.push_back(now);
  }
  std::size_t start = live.size() - 1;
  while (start > 0 && live[start - 1] <= usual) --start;
  const auto begin = live.begin() + static_cast<std::ptrdiff_t>(start);
  const auto soon = static_cast<std::ptrdiff_t>((live.size() - start + 3) / 4);
  return start + static_cast<std::size_t>(std::min_element(begin, begin + soon) - begin);
}

/// Replays the requests to one allocator. Returns nothing if the native model does not reproduce the recording.
std::optional<reserved_replay> replayed(const replay::recorded_events& events, const cache_use& cache,
                                        const trace::tables& tables) {
  const replay::allocator_requests requests = replay::collect_requests(events, tables);
  const replay::replay_metrics native = replay::replay_policy(requests, {});
  const auto error = replay::to_error(requests, native);
  if (!error || error->peak_reserved != 0) return std::nullopt;
  reserved_replay output;
  output.device = events.device;
  output.peak_reserved = native.peak_reserved;
  output.retries = native.retries;
  const auto reserved = static_cast<double>(native.peak_reserved);
  if (native.retries > 0 || reserved - static_cast<double>(native.peak_allocated) >= warned_memory_share * reserved) {
    for (const char* setting : advised) {
      const auto metrics = replay::replay_policy(requests, *replay::parse_policy(setting));
      output.policies.push_back({setting, metrics.peak_reserved, metrics.retries, metrics.failures});
    }
  }
  if (cache.low_share() >= unused_at_last) {
    const auto late = replay::empty_cache_before(requests, after_the_peak(requests, cache.usual_maximum));
    output.late_reserved = late.as_recorded;
    output.late_emptied = late.emptied;
  }
  return output;
}

}  // namespace

std::vector<reserved_replay> reserved_replays_builder::take(std::span<const cache_use> caches) {
  std::vector<reserved_replay> replays;
  const auto worth_it = [](const cache_use& each) {
    return each.pool == trace::pool_id::none && static_cast<double>(each.reserved_maximum) >= min_reserved;
  };
  if (!is_whole() || events_.gave_up() || std::none_of(caches.begin(), caches.end(), worth_it)) return replays;
  const auto whole = events_.take(scope_.tables());
  for (const cache_use& cache : caches) {
    if (!worth_it(cache)) continue;
    const auto of_device = [&](const replay::recorded_events& each) { return each.device == cache.device; };
    // `caches` does not distinguish processes.
    if (std::count_if(whole.begin(), whole.end(), of_device) != 1) continue;
    auto one = replayed(*std::find_if(whole.begin(), whole.end(), of_device), cache, scope_.tables());
    if (one && (!one->policies.empty() || one->late_reserved > 0)) replays.push_back(std::move(*one));
  }
  return replays;
}

}  // namespace sluice::metrics
