#include "core/metrics/findings/findings.hpp"

#include "core/metrics/findings/descriptors.hpp"
#include "core/metrics/findings/shared/finder.hpp"
#include "core/metrics/findings/shared/thresholds.hpp"

namespace sluice::metrics {

std::vector<finding> find_all_findings(const report& subject, const trace::tables& tables, const naming* names) {
  finder whole{subject, tables, names == nullptr ? code_places(tables) : code_places(tables, *names)};
  for (const finding_descriptor& folder : finding_descriptors_in_order) {
    for (const find_function step : folder.steps) {
      step(whole);
      whole.device = {};
    }
  }
  join_devices(whole.found, tables);
  rank(whole.found);
  find_overlaps(whole.found);
  return std::move(whole.found);
}

}  // namespace sluice::metrics
