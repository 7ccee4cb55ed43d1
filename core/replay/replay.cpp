#include "core/replay/replay.hpp"

#include <algorithm>

#include "core/replay/allocator_model.hpp"

namespace sluice::replay {
namespace {

void add(const replay_figures& one, replay_figures& sum) {
  sum.peak_reserved += one.peak_reserved;
  sum.peak_allocated += one.peak_allocated;
  sum.segments += one.segments;
  sum.driver_calls += one.driver_calls;
  sum.largest_hole = std::max(sum.largest_hole, one.largest_hole);
  sum.retries += one.retries;
  sum.failures += one.failures;
}

std::int64_t difference(std::uint64_t model, std::uint64_t recorded) {
  return static_cast<std::int64_t>(model) - static_cast<std::int64_t>(recorded);
}

}  // namespace

replay_figures replay_policy(const allocator_requests& of, const policy& by) {
  allocator_model model(of, rules_for(by, of));
  auto segment = of.segment_addresses.begin();
  for (const request& each : of.requests) {
    switch (each.what) {
      case request_kind::allocate: {
        const bool named = segment != of.segment_addresses.end() && segment->first == each.block;
        // A failed allocation has no block; its free is then ignored.
        (void)model.allocate(each.block, each.bytes, each.arena, named ? segment->second : 0);
        if (named) ++segment;
        break;
      }
      case request_kind::free:
        model.free(each.block);
        break;
      case request_kind::empty_cache:
        model.empty_cache(of.kept_arenas[each.block]);
        break;
    }
  }
  return model.figures();
}

std::vector<policy_result> replay_policies(std::span<const allocator_requests> of, std::span<const policy> policies) {
  std::vector<policy_result> all;
  all.reserve(policies.size());
  for (const policy& by : policies) {
    policy_result made{by, {}, {}};
    for (const allocator_requests& each : of) {
      made.figures.push_back(replay_policy(each, by));
      add(made.figures.back(), made.sum);
    }
    all.push_back(std::move(made));
  }
  return all;
}

std::optional<native_error> error_of(const allocator_requests& of, const replay_figures& native) {
  if (!of.recorded.segments_known || of.recorded.mapped) return std::nullopt;
  return native_error{difference(native.peak_reserved, of.recorded.peak_reserved),
                      difference(native.segments, of.recorded.peak_segments),
                      difference(native.driver_calls, of.recorded.driver_calls)};
}

}  // namespace sluice::replay
