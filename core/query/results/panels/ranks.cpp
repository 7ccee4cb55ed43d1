#include "core/query/types/ranks.hpp"

#include <algorithm>
#include <cmath>

#include "core/query/results/result_functions.hpp"
#include "core/query/sources/bin_source.hpp"

namespace sluice::query {
namespace {

/// Adds the busy time of `each` to the parts that it covers.
void add_busy(const timeline::drawn_slice& each, time_range range, std::vector<double>& parts) {
  const double width = static_cast<double>(range.length()) / static_cast<double>(parts.size());
  const double begin = std::max(0.0, static_cast<double>(each.item.begin - range.begin));
  const double end = std::min(static_cast<double>(range.length()), static_cast<double>(each.item.end - range.begin));
  if (end <= begin || width <= 0) return;
  const auto last = std::min(parts.size() - 1, static_cast<std::size_t>(end / width));
  for (auto part = static_cast<std::size_t>(begin / width); part <= last; ++part) {
    const double low = std::max(begin, static_cast<double>(part) * width);
    const double high = std::min(end, static_cast<double>(part + 1) * width);
    if (high > low) parts[part] += (high - low) / width * static_cast<double>(each.busy);
  }
}

class rank_sampler {
 public:
  rank_sampler(const ranks_query& query, const sources& source)
      : range_(bounded(query.range)),
        width_(std::clamp<std::uint32_t>(query.width, 1, widest_view)),
        all_(source, false) {}

  result<void> put_memory(const std::vector<shown_rank>& ranks, rank_rows& into) {
    std::vector<std::uint32_t> places;
    std::vector<std::size_t> rows;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      const auto curves = all_.curves();
      const auto found = std::find_if(curves.begin(), curves.end(), [&](const trace::curve_row& curve) {
        return curve.type == trace::curve_kind::memory && curve.device == ranks[i].memory.device &&
               curve.layer == ranks[i].memory.layer && curve.kind == ranks[i].memory.kind;
      });
      if (found == curves.end()) continue;
      places.push_back(static_cast<std::uint32_t>(found - curves.begin()));
      rows.push_back(i);
    }
    auto sampled = all_.sample(places, range_, width_);
    if (!sampled) return tl::unexpected<error>(sampled.error());
    into.range = places.empty() ? range_ : sampled->range;
    for (std::size_t i = 0; i < rows.size(); ++i)
      for (const bin& each : sampled->bins[i]) into.rows[rows[i]].memory.push_back(each.maximum);
    // A device without this memory still has the other values.
    const std::size_t parts = rows.empty() ? width_ : sampled->bins.front().size();
    for (rank_row& each : into.rows) each.memory.resize(parts);
    return {};
  }

  result<void> put_idle(const shown_rank& rank, time_range range, rank_row& into) {
    std::vector<float> busy, waiting;
    for (std::size_t place = 0; place < all_.owners().size(); ++place) {
      const trace::lane_row& about = all_.owners()[place].about;
      const bool stream = about.type == trace::lane_kind::stream && about.device == rank.memory.device;
      const bool calls = about.type == trace::lane_kind::host_calls && about.process == rank.process;
      if (!stream && !calls) continue;
      if (const auto drawn = all_.draw(place, range, width_, slices_); !drawn)
        return tl::unexpected<error>(drawn.error());
      std::vector<double> parts(std::max<std::size_t>(into.memory.size(), 1));
      for (const timeline::drawn_slice& each : slices_)
        if (stream || static_cast<slice_kind>(each.item.kind) == slice_kind::sync) add_busy(each, range, parts);
      std::vector<float>& most = stream ? busy : waiting;
      most.resize(parts.size());
      for (std::size_t i = 0; i < parts.size(); ++i)
        most[i] = std::max(most[i], static_cast<float>(std::min(parts[i], 1.0)));
    }
    for (const float each : busy) into.idle.push_back(1 - each);
    into.waiting = std::move(waiting);
    return {};
  }

 private:
  const time_range range_;
  const std::uint32_t width_;
  const bin_source all_;
  std::vector<timeline::drawn_slice> slices_;
};

}  // namespace

result<rank_rows> result_to(const ranks_query& query, const sources& source) {
  rank_rows rows;
  rows.rows.resize(query.ranks.size());
  rank_sampler sampler(query, source);
  if (const auto put = sampler.put_memory(query.ranks, rows); !put) return tl::unexpected(put.error());
  for (std::size_t i = 0; i < query.ranks.size(); ++i) {
    if (source.cancelled) return fail(error_code::cancelled, "the query was cancelled");
    if (const auto put = sampler.put_idle(query.ranks[i], rows.range, rows.rows[i]); !put)
      return tl::unexpected(put.error());
  }
  return rows;
}

void put_own_memory(const memory_groups& own, time_range range, rank_row& into) {
  const std::size_t parts = into.memory.size();
  const auto known = static_cast<double>(own.total.size());
  const auto length = static_cast<double>(std::max<time_ns>(own.range.length(), 1));
  const double part = static_cast<double>(range.length()) / static_cast<double>(std::max<std::size_t>(parts, 1));
  for (std::size_t i = 0; i < parts; ++i) {
    const double begin = static_cast<double>(range.begin - own.range.begin) + part * static_cast<double>(i);
    const double first = std::floor(begin / length * known);
    const double behind = std::ceil((begin + part) / length * known);
    into.memory[i] = 0;
    for (double at = std::max(first, 0.0); at < std::min(behind, known); ++at)
      into.memory[i] = std::max(into.memory[i], static_cast<double>(own.total[static_cast<std::size_t>(at)]));
  }
}

}  // namespace sluice::query
