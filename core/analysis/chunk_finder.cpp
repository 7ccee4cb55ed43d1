#include "core/analysis/chunk_finder.hpp"

#include <algorithm>

namespace sluice::analysis {
namespace {

constexpr std::size_t group = 64;

}  // namespace

chunk_finder::chunk_finder(std::span<const chunk_reach> reaches, const trace::snapshot& of) : reaches_(reaches) {
  for (std::size_t i = 0; i < reaches.size(); ++i) {
    const chunk_reach& each = reaches[i];
    if (i % group == 0) groups_.push_back({each.first, each.last});
    groups_.back().begin = std::min(groups_.back().begin, each.first);
    groups_.back().end = std::max(groups_.back().end, each.last);
    if (each.chunk >= of.chunks().size()) continue;
    const trace::row_type type = of.chunks()[each.chunk].type;
    if (matters_everywhere(type, false)) everywhere_.push_back({i, type});
  }
}

std::vector<std::size_t> chunk_finder::in(time_range run, bool samples_told) const {
  std::vector<std::size_t> found;
  for (const far_place& each : everywhere_)
    if (matters_everywhere(each.type, samples_told)) found.push_back(each.place);
  const auto is_here = [&](time_ns first, time_ns last) { return first < run.end && last >= run.begin; };
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    if (!is_here(groups_[g].begin, groups_[g].end)) continue;
    const std::size_t behind = std::min(reaches_.size(), (g + 1) * group);
    for (std::size_t i = g * group; i < behind; ++i)
      if (is_here(reaches_[i].first, reaches_[i].last)) found.push_back(i);
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

}  // namespace sluice::analysis
