#include "core/analysis/chunk_finder.hpp"

#include <algorithm>

namespace sluice::analysis {
chunk_finder::chunk_finder(std::span<const chunk_reach> reaches, const trace::snapshot& of) {
  for (std::size_t i = 0; i < reaches.size(); ++i) {
    const chunk_reach& each = reaches[i];
    reaches_.add(each.first, each.last);
    if (each.chunk >= of.chunks().size()) continue;
    const trace::row_type type = of.chunks()[each.chunk].type;
    if (matters_everywhere(type, false)) everywhere_.push_back({i, type});
  }
}

std::vector<std::size_t> chunk_finder::in(time_range run, bool samples_told) const {
  std::vector<std::size_t> found;
  for (const far_place& each : everywhere_)
    if (matters_everywhere(each.type, samples_told)) found.push_back(each.place);
  reaches_.for_each_in(run, [&](std::size_t place) { found.push_back(place); });
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

}  // namespace sluice::analysis
