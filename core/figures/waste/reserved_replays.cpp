#include "core/figures/waste/reserved_replays.hpp"

#include <algorithm>
#include <limits>
#include <optional>

#include "core/figures/findings/thresholds.hpp"
#include "core/replay/replay.hpp"
#include "core/replay/requests.hpp"

namespace sluice::analysis {
namespace {

/// The settings that findings may advise: those that a program can set without knowing its sizes.
constexpr const char* advised[] = {"expandable_segments:True", "roundup_power2_divisions:4", "max_split_size_mb:128"};

/// The position from `from` to before `to` at which the fewest bytes are live: where a program would empty the cache.
std::size_t lowest_use(const replay::allocator_requests& of, std::size_t from, std::size_t to) {
  std::vector<std::uint64_t> sizes(of.blocks);
  std::uint64_t live = 0;
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  std::size_t found = from;
  for (std::size_t i = 0; i < std::min(to, of.requests.size()); ++i) {
    if (i >= from && live < least) {
      least = live;
      found = i;
    }
    const replay::request& each = of.requests[i];
    if (each.what == replay::request_kind::allocate) live += sizes[each.block] = each.bytes;
    if (each.what == replay::request_kind::free) live -= sizes[each.block];
  }
  return found;
}

/// Nothing if the native model does not reproduce the recording.
std::optional<reserved_replay> replayed(const replay::recorded_events& events, const cache_use& cache,
                                        const trace::tables& tables) {
  const replay::allocator_requests requests = replay::requests_of(events, tables);
  const replay::replay_figures native = replay::replay_policy(requests, {});
  const auto error = replay::error_of(requests, native);
  if (!error || error->peak_reserved != 0) return std::nullopt;
  reserved_replay made;
  made.device = events.device;
  made.peak_reserved = native.peak_reserved;
  made.retries = native.retries;
  const auto reserved = static_cast<double>(native.peak_reserved);
  if (native.retries > 0 || reserved - static_cast<double>(native.peak_allocated) >= warned_memory_share * reserved) {
    for (const char* setting : advised) {
      const auto figures = replay::replay_policy(requests, *replay::parse_policy(setting));
      made.policies.push_back({setting, figures.peak_reserved, figures.retries, figures.failures});
    }
  }
  if (cache.parts > 0 && static_cast<double>(cache.low_parts) >= unused_at_last * static_cast<double>(cache.parts)) {
    const std::size_t part = requests.requests.size() / cache.parts;
    const std::size_t from = part * (cache.parts - cache.low_parts);
    const auto late = replay::empty_cache_before(requests, lowest_use(requests, from, from + part));
    made.late_reserved = late.as_recorded;
    made.late_emptied = late.emptied;
  }
  return made;
}

}  // namespace

std::vector<reserved_replay> reserved_replays_builder::take(std::span<const cache_use> caches) {
  std::vector<reserved_replay> made;
  const auto worth_it = [](const cache_use& each) {
    return each.pool == trace::pool_id::none && static_cast<double>(each.reserved_maximum) >= least_reserved;
  };
  if (!whole_ || events_.gave_up() || std::none_of(caches.begin(), caches.end(), worth_it)) return made;
  const auto all = events_.take();
  for (const cache_use& cache : caches) {
    if (!worth_it(cache)) continue;
    const auto of_device = [&](const replay::recorded_events& each) { return each.device == cache.device; };
    // The figures of caches do not tell processes apart.
    if (std::count_if(all.begin(), all.end(), of_device) != 1) continue;
    auto one = replayed(*std::find_if(all.begin(), all.end(), of_device), cache, tables_);
    if (one && (!one->policies.empty() || one->late_reserved > 0)) made.push_back(std::move(*one));
  }
  return made;
}

}  // namespace sluice::analysis
