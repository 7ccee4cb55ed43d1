#include "core/summary/passes/settling.hpp"

#include <algorithm>

#include "core/metrics/findings/idle_memory/idle_memory.hpp"

namespace sluice::summary {
namespace {

constexpr time_ns max_without_steps = 10'000'000'000;
constexpr time_ns share_without_steps = 10;

}  // namespace

time_ns settling_time(const index::step_facts& steps, time_range whole) {
  time_ns longest = 0;
  for (const auto& [process, list] : steps.lists()) {
    if (list.steps.empty()) continue;
    const std::size_t n = list.steps.size();
    const time_ns to = n < 3 ? whole.end : list.steps[n - 1].span.begin;
    longest = std::max(longest, to - list.steps[n < 3 ? 0 : n - 3].span.begin);
  }
  return longest > 0 ? longest : std::min(whole.length() / share_without_steps, max_without_steps);
}

bool awaits_second_step(const index::step_facts& steps, time_range whole) {
  return std::any_of(steps.lists().begin(), steps.lists().end(), [&](const auto& each) {
    const std::vector<index::step>& items = each.second.steps;
    return items.size() == 1 && whole.end - items[0].span.begin < items[0].span.begin - whole.begin;
  });
}

bool found_alike(const index::recording_facts& before, const index::recording_facts& now) {
  constexpr std::uint64_t enough_touches =
      metrics::idle_memory_builder::idle_works * metrics::idle_memory_builder::few_touches;
  const bool same_pools = std::all_of(before.pools.begin(), before.pools.end(), [&](const auto& each) {
    return std::any_of(now.pools.begin(), now.pools.end(), [&](const auto& pool) {
      return pool.pool == each.pool && pool.has_blocks == each.has_blocks && pool.has_segments == each.has_segments;
    });
  });
  return same_pools && before.with_kernels == now.with_kernels && before.tagged == now.tagged &&
         std::min(before.touches, enough_touches) == std::min(now.touches, enough_touches);
}

}  // namespace sluice::summary
