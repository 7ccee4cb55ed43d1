#include "app/gui/views/memory_over_time/memory_choice.hpp"

#include <algorithm>

#include "core/query/results/device_first.hpp"

namespace sluice::gui {

std::vector<std::size_t> get_memories(const metrics::report& whole_report) {
  std::vector<std::size_t> values;
  for (std::size_t i = 0; i < whole_report.peaks.size(); ++i)
    if (whole_report.peaks[i].kind != trace::memory_kind::reservation) values.push_back(i);
  std::stable_sort(values.begin(), values.end(), [&](std::size_t a, std::size_t b) {
    return whole_report.peaks[a].bytes > whole_report.peaks[b].bytes;
  });
  return values;
}

std::size_t choose_best(const metrics::report& whole_report, const std::vector<std::size_t>& memories) {
  const auto of_device = std::find_if(memories.begin(), memories.end(), [&](std::size_t each) {
    const metrics::memory_peak& peak = whole_report.peaks[each];
    return query::goes_first(peak.kind, peak.bytes, whole_report.peaks[memories.front()].bytes);
  });
  const std::size_t largest = of_device == memories.end() ? memories.front() : *of_device;
  std::size_t best = largest;
  for (const std::size_t each : memories) {
    const metrics::memory_peak& memory_peak = whole_report.peaks[each];
    if (memory_peak.device != whole_report.peaks[largest].device ||
        memory_peak.bytes < whole_report.peaks[largest].bytes / 4)
      continue;
    if (memory_peak.layer > whole_report.peaks[best].layer) best = each;
  }
  return best;
}

}  // namespace sluice::gui
