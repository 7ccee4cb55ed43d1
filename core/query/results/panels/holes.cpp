#include "core/query/types/holes.hpp"

#include <algorithm>

#include "core/query/results/query_operator.hpp"

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

/// Takes one sample per part.
class hole_finder final : public query_operator<hole_curve> {
 public:
  explicit hole_finder(const holes_query& query) : query_(query), made_{query.range, {}} {}

  result<reading_plan> plan(const sources& /*source*/) override {
    reading_plan moments;
    for (std::size_t i = 0; i < get_samples(query_); ++i) {
      const time_ns time = bounded(get_time(query_, i));
      moments.ranges.push_back({time, time});
    }
    return moments;
  }
  result<void> add(const sources& source, time_range /*part*/) override {
    auto sample = sample_at(get_time(query_, made_.samples.size()), query_, source);
    if (!sample) return tl::unexpected(sample.error());
    made_.samples.push_back(*sample);
    return {};
  }
  result<hole_curve> finish(const sources& /*source*/) override { return made_; }

 private:
  const holes_query query_;
  hole_curve made_;
};

}  // namespace

operator_of<holes_query> make_operator(const holes_query& query) { return std::make_unique<hole_finder>(query); }

}  // namespace sluice::query
