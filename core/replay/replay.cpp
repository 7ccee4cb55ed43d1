#include "core/replay/replay.hpp"

#include <algorithm>

#include "core/replay/allocator_model.hpp"

namespace sluice::replay {
namespace {

void add(const replay_metrics& one, replay_metrics& sum) {
  sum.peak_reserved += one.peak_reserved;
  sum.peak_allocated += one.peak_allocated;
  sum.segments += one.segments;
  sum.driver_calls += one.driver_calls;
  sum.largest_hole = std::max(sum.largest_hole, one.largest_hole);
  sum.retries += one.retries;
  sum.failures += one.failures;
  sum.at_failure += one.at_failure;
}

std::int64_t difference(std::uint64_t model, std::uint64_t recorded) {
  return static_cast<std::int64_t>(model) - static_cast<std::int64_t>(recorded);
}

/// Returns the arenas that keep their memory when the cache is emptied, because a CUDA graph may still use its pool.
std::vector<std::uint16_t> list_private_arenas(const allocator_requests& requests) {
  std::vector<std::uint16_t> kept;
  for (std::size_t arena = 0; arena < requests.private_arenas.size(); ++arena)
    if (requests.private_arenas[arena]) kept.push_back(static_cast<std::uint16_t>(arena));
  return kept;
}

/// The moments between requests when the program empties the cache or an allocation fails.
class moments_between {
 public:
  moments_between(const allocator_requests& requests, const policy& by)
      : of_(requests),
        empties_(when(requests, by)),
        kept_(empties_.empty() ? std::vector<std::uint16_t>{} : list_private_arenas(requests)) {}

  /// Applies the moments up to `until`. Must be called before each request and, after the last request, with the
  /// largest time.
  void pass(trace::time_ns until, allocator_model& model) {
    bool emptied = false;
    for (; next_ < empties_.size() && empties_[next_] <= until; ++next_) {
      if (!emptied) model.empty_cache(kept_);  // Nothing has been freed since the cache was last emptied.
      emptied = true;
    }
    if (failed_ || of_.failures.empty() || of_.failures.front() > until) return;
    failed_ = true;
    at_failure_ = model.reserved();
  }
  [[nodiscard]] std::uint64_t at_failure() const { return at_failure_; }

 private:
  static std::span<const trace::time_ns> when(const allocator_requests& requests, const policy& by) {
    switch (by.empties) {
      case policy::emptying::each_step:
        return requests.step_begins;
      case policy::emptying::failure:
        return requests.failures;
      case policy::emptying::never:
        break;
    }
    return {};
  }

  const allocator_requests& of_;
  const std::span<const trace::time_ns> empties_;
  const std::vector<std::uint16_t> kept_;
  std::size_t next_ = 0;
  bool failed_ = false;
  std::uint64_t at_failure_ = 0;
};

/// Calls `watch(position, model)` before the first request and after each request.
template <class Watch>
replay_metrics replay_watched(const allocator_requests& requests, const policy& by, const Watch& watch) {
  allocator_model model(requests, rules_for(by, requests));
  moments_between between(requests, by);
  auto segment = requests.segment_addresses.begin();
  watch(std::size_t{0}, model);
  for (std::size_t i = 0; i < requests.requests.size(); ++i) {
    const request& each = requests.requests[i];
    if (i < requests.times.size()) between.pass(requests.times[i], model);
    switch (each.kind) {
      case request_kind::allocate: {
        const bool named = segment != requests.segment_addresses.end() && segment->first == each.block;
        // A failed allocation has no block, so its free is ignored later.
        (void)model.allocate(each.block, each.bytes, each.arena, named ? segment->second : 0);
        if (named) ++segment;
        break;
      }
      case request_kind::free:
        model.free(each.block);
        break;
      case request_kind::empty_cache:
        model.empty_cache(requests.kept_arenas[each.block]);
        break;
    }
    watch(i + 1, model);
  }
  between.pass(INT64_MAX, model);
  replay_metrics metrics = model.metrics();
  metrics.at_failure = between.at_failure();
  return metrics;
}

/// Adds the reserved bytes after each request to the parts of a curve.
class curve_filler {
 public:
  curve_filler(const allocator_requests& requests, reserved_curve& into) : of_(requests), into_(into) {
    std::fill(into_.highest.begin(), into_.highest.end(), 0);
  }

  void put(std::size_t position, std::uint64_t reserved) {
    if (into_.highest.empty()) return;
    if (position > 0) fill_until(get_part(of_.times[position - 1]));
    reserved_ = reserved;
    into_.highest[part_] = std::max(into_.highest[part_], reserved_);
    if (position == of_.requests.size()) fill_until(into_.highest.size() - 1);
  }

 private:
  [[nodiscard]] std::size_t get_part(trace::time_ns time) const {
    const double length = std::max(static_cast<double>(into_.range.length()), 1.0);
    const double share = static_cast<double>(bounded(time) - into_.range.begin) / length;
    const auto parts = static_cast<double>(into_.highest.size());
    return static_cast<std::size_t>(std::clamp(share * parts, 0.0, parts - 1));
  }
  void fill_until(std::size_t part) {
    while (part_ < part) into_.highest[++part_] = reserved_;
  }

  const allocator_requests& of_;
  reserved_curve& into_;
  std::size_t part_ = 0;
  std::uint64_t reserved_ = 0;
};

}  // namespace

replay_metrics replay_policy(const allocator_requests& requests, const policy& by, reserved_curve* curve) {
  if (curve == nullptr) return replay_watched(requests, by, [](std::size_t, const allocator_model&) {});
  curve_filler filler(requests, *curve);
  return replay_watched(requests, by, [&](std::size_t position, const allocator_model& model) {
    filler.put(position, model.reserved());
  });
}

reserved_after empty_cache_before(const allocator_requests& requests, std::size_t begin) {
  const policy native;
  reserved_after after;
  std::uint64_t* most = &after.as_recorded;
  std::size_t first = begin;
  const auto watch = [&](std::size_t position, const allocator_model& model) {
    if (position >= first) *most = std::max(*most, model.reserved());
  };
  (void)replay_watched(requests, native, watch);
  allocator_requests emptied = requests;
  const auto number = static_cast<std::uint32_t>(emptied.kept_arenas.size());
  emptied.requests.insert(emptied.requests.begin() + static_cast<std::ptrdiff_t>(begin),
                          {0, number, 0, request_kind::empty_cache});
  emptied.kept_arenas.push_back(list_private_arenas(requests));
  most = &after.emptied;
  first = begin + 1;
  (void)replay_watched(emptied, native, watch);
  return after;
}

std::vector<policy_result> replay_policies(std::span<const allocator_requests> items,
                                           std::span<const policy> policies) {
  std::vector<policy_result> results;
  results.reserve(policies.size());
  for (const policy& by : policies) {
    policy_result result{by, {}, {}};
    for (const allocator_requests& each : items) {
      result.metrics.push_back(replay_policy(each, by));
      add(result.metrics.back(), result.sum);
    }
    results.push_back(std::move(result));
  }
  return results;
}

std::optional<native_error> to_error(const allocator_requests& requests, const replay_metrics& native) {
  if (!requests.recorded.segments_known || requests.recorded.mapped) return std::nullopt;
  const reserved_memory& recorded = requests.recorded.with_blocks;
  return native_error{difference(native.peak_reserved, recorded.peak_reserved),
                      difference(native.segments, recorded.peak_segments),
                      difference(native.driver_calls, recorded.driver_calls)};
}

}  // namespace sluice::replay
