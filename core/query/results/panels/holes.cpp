#include "core/query/types/holes.hpp"

#include <algorithm>

#include "core/query/results/long_queries.hpp"

namespace sluice::query {
namespace {

std::uint32_t get_samples(const holes_query& query) {
  return std::clamp<std::uint32_t>(query.samples, 1, holes_query::max_samples);
}

/// Returns the time of a sample: the middle of its part, where all parts of the range have equal lengths.
time_ns get_time(const holes_query& query, std::size_t sample) {
  const double share = (static_cast<double>(sample) + 0.5) / static_cast<double>(get_samples(query));
  return query.range.begin + static_cast<time_ns>(share * static_cast<double>(query.range.length()));
}

result<hole_sample> sample_at(time_ns time, const holes_query& query, const sources& source) {
  const auto map = result_to(memory_map_query{.time = time, .device = query.device, .width = 1}, source);
  if (!map) return tl::unexpected(map.error());
  hole_sample sample{time, {}};
  for (const address_group& group : map->groups) {
    if (group.lone) continue;
    segment_holes& holes = sample.layers.at(static_cast<std::size_t>(group.layer));
    holes.bytes += group.bytes;
    holes.free += group.bytes - std::min(group.bytes, group.used);
    holes.largest_hole = std::max(holes.largest_hole, group.largest_hole);
  }
  return sample;
}

/// Takes one sample per step, from a file with sections.
class hole_finder final : public long_result<hole_curve> {
 public:
  hole_finder(const holes_query& query, const sources& source) : query_(query), from_(source), made_{query.range, {}} {}

  result<bool> work(deadline_type deadline, const std::atomic<bool>& cancelled) override {
    summary::section_cache& cache = *from_.stored->sections;
    while (made_.samples.size() < get_samples(query_)) {
      if (cancelled) return fail(error_code::cancelled, "the query was cancelled");
      const time_ns time = get_time(query_, made_.samples.size());
      const std::size_t section = cache.store().section_at(bounded(time));
      const auto index = cache.get(section, section, get_scope(query_), [&cancelled] { return !cancelled; });
      if (!index) return tl::unexpected(index.error());
      const auto sample = sample_at(time, query_, with_index(from_, **index, from_.provisional));
      if (!sample) return tl::unexpected(sample.error());
      made_.samples.push_back(*sample);
      if (std::chrono::steady_clock::now() >= deadline) break;
    }
    return made_.samples.size() >= get_samples(query_);
  }
  [[nodiscard]] float progress() const override {
    return static_cast<float>(made_.samples.size()) / static_cast<float>(get_samples(query_));
  }
  result<hole_curve> so_far(bool& /*provisional*/) override { return made_; }

 private:
  const holes_query query_;
  const sources from_;
  hole_curve made_;
};

}  // namespace

unique_result start_long(const holes_query& query, const sources& source) {
  return has_sections(source) ? std::make_unique<hole_finder>(query, source) : nullptr;
}

result<hole_curve> result_to(const holes_query& query, const sources& source) {
  hole_curve curve{query.range, {}};
  while (curve.samples.size() < get_samples(query)) {
    const auto sample = sample_at(get_time(query, curve.samples.size()), query, source);
    if (!sample) return tl::unexpected(sample.error());
    curve.samples.push_back(*sample);
  }
  return curve;
}

}  // namespace sluice::query
