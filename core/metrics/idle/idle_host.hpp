#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/base/time/time_range.hpp"
#include "core/metrics/host_causes/host_cause_groups.hpp"
#include "core/metrics/host_causes/host_remedies.hpp"
#include "core/metrics/host_causes/stack_reasons.hpp"
#include "core/metrics/idle/recent_samples.hpp"
#include "core/trace/model/tables.hpp"

/// Joins the idle gaps of devices with the samples of the threads that the devices waited for. Times are in ns.
namespace sluice::index {
class event_store;
}

namespace sluice::metrics {

struct idle_part;

/// Gathers what host threads did in the parts of gaps that host code took (`gap_cause::host`). Copies are independent.
class idle_host_builder {
 public:
  /// Adds the samples in `run`, the time range that `store` covers, and the parts of the gaps that ended in it
  /// (`idle_gaps_builder`), in order of device and time. O(samples).
  void add(const index::event_store& store, time_range run, std::span<const idle_part> parts,
           const trace::tables& tables);
  /// Forgets the samples before `time`, which no gap will need. O(kept samples).
  void forget(time_ns time) { samples_.forget(time); }
  /// The samples that were not forgotten.
  [[nodiscard]] const recent_samples& samples() const { return samples_; }

  /// Returns the groups of a device, most time first, joined beyond `limit` (`host_cause_groups::groups`). Their totals
  /// add up to the time of the device's parts. Empty if the recording has no samples.
  [[nodiscard]] std::vector<host_cause_group> get_groups(trace::device_id device, time_ns end) const;
  [[nodiscard]] const program_traits& traits() const { return reasons_.traits(); }

  static constexpr std::size_t limit = 64;

 private:
  void add_gap(std::span<const idle_part> parts, const trace::tables& tables);

  recent_samples samples_;
  stack_reasons reasons_;
  std::map<trace::device_id, host_cause_groups> devices_;
  std::vector<host_span> spans_;  ///< Of the current gap.
};

}  // namespace sluice::metrics
