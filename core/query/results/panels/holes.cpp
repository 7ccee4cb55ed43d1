#include "core/query/results/panels/holes.hpp"

#include <algorithm>

#include "core/query/results/panels/holes_finder.hpp"

namespace sluice::query {
namespace {

std::uint32_t samples_of(const holes_query& query) {
  return std::clamp<std::uint32_t>(query.samples, 1, holes_query::max_samples);
}

/// The middle of each of the equal parts of the range.
time_ns time_of(const holes_query& query, std::size_t sample) {
  const double share = (static_cast<double>(sample) + 0.5) / static_cast<double>(samples_of(query));
  return query.range.begin + static_cast<time_ns>(share * static_cast<double>(query.range.length()));
}

result<hole_sample> sample_at(time_ns time, const holes_query& query, const sources& from) {
  const auto map = result_to(memory_map_query{.time = time, .device = query.device, .width = 1}, from);
  if (!map) return tl::unexpected(map.error());
  hole_sample made{time, {}};
  for (const address_group& group : map->groups) {
    if (group.lone) continue;
    segment_holes& of = made.layers.at(static_cast<std::size_t>(group.layer));
    of.bytes += group.bytes;
    of.free += group.bytes - std::min(group.bytes, group.used);
    of.largest_hole = std::max(of.largest_hole, group.largest_hole);
  }
  return made;
}

}  // namespace

hole_finder::hole_finder(const holes_query& query, const sources& from)
    : query_(query), from_(from), made_{query.range, {}} {}

result<bool> hole_finder::work(std::chrono::steady_clock::time_point deadline, const std::atomic<bool>& cancelled) {
  summary::section_cache& cache = *from_.stored->sections;
  while (made_.samples.size() < samples_of(query_)) {
    if (cancelled) return fail(error_code::cancelled, "the query was cancelled");
    const time_ns time = time_of(query_, made_.samples.size());
    const std::size_t section = cache.store().section_at(bounded(time));
    const auto index = cache.get(section, section, scope_of(query_), [&cancelled] { return !cancelled; });
    if (!index) return tl::unexpected(index.error());
    bool provisional = false;
    const auto sample = sample_at(
        time, query_, {**index, from_.trace, cancelled, from_.frames, from_.lookup, nullptr, nullptr, provisional});
    if (!sample) return tl::unexpected(sample.error());
    made_.samples.push_back(*sample);
    if (std::chrono::steady_clock::now() >= deadline) break;
  }
  return made_.samples.size() >= samples_of(query_);
}

float hole_finder::progress() const {
  return static_cast<float>(made_.samples.size()) / static_cast<float>(samples_of(query_));
}

result<hole_curve> result_to(const holes_query& query, const sources& from) {
  hole_curve made{query.range, {}};
  while (made.samples.size() < samples_of(query)) {
    const auto sample = sample_at(time_of(query, made.samples.size()), query, from);
    if (!sample) return tl::unexpected(sample.error());
    made.samples.push_back(*sample);
  }
  return made;
}

}  // namespace sluice::query
