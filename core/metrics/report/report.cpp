#include "core/metrics/report/report.hpp"

#include "core/index/memory/memory_use.hpp"

namespace sluice::metrics {

const memory_peak* main_peak(const report& whole_report) {
  const memory_peak* found = nullptr;
  for (const memory_peak& each : whole_report.peaks)
    if (index::is_device_resident(each.kind) &&
        (found == nullptr || each.layer > found->layer || (each.layer == found->layer && each.bytes > found->bytes)))
      found = &each;
  return found;
}

}  // namespace sluice::metrics
