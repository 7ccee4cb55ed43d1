#include "app/gui/views/memory_over_time/memory_choice.hpp"

#include <algorithm>

#include "core/query/results/device_first.hpp"

namespace sluice::gui {

std::vector<std::size_t> memories_of(const metrics::report& all) {
  std::vector<std::size_t> made;
  for (std::size_t i = 0; i < all.peaks.size(); ++i)
    if (all.peaks[i].kind != trace::memory_kind::reservation) made.push_back(i);
  std::stable_sort(made.begin(), made.end(),
                   [&](std::size_t a, std::size_t b) { return all.peaks[a].bytes > all.peaks[b].bytes; });
  return made;
}

std::size_t best_of(const metrics::report& all, const std::vector<std::size_t>& memories) {
  const auto of_device = std::find_if(memories.begin(), memories.end(), [&](std::size_t each) {
    const metrics::memory_peak& of = all.peaks[each];
    return query::goes_first(of.kind, of.bytes, all.peaks[memories.front()].bytes);
  });
  const std::size_t largest = of_device == memories.end() ? memories.front() : *of_device;
  std::size_t best = largest;
  for (const std::size_t each : memories) {
    const metrics::memory_peak& of = all.peaks[each];
    if (of.device != all.peaks[largest].device || of.bytes < all.peaks[largest].bytes / 4) continue;
    if (of.layer > all.peaks[best].layer) best = each;
  }
  return best;
}

}  // namespace sluice::gui
