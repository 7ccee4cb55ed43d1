#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "core/base/time/time_range.hpp"
#include "core/metrics/base/metrics_scope.hpp"
#include "core/metrics/base/octile_coverage.hpp"
#include "core/metrics/report/waste/transfers.hpp"
#include "core/trace/model/model.hpp"

/// Groups copies between host and device, and measures possible causes of slowness: pageable memory, small sizes, no
/// overlap with kernels. Sizes are in bytes, times in ns.
namespace sluice::index {
class event_store;
}

namespace sluice::metrics {

/// Which copies `copy_waste_builder` collects.
enum class copies_grouped : std::uint8_t {
  with_host,  ///< Only copies whose host side is known: those between host and device.
  all         ///< All copies, including those inside a device, between devices, and with an unknown host side.
};

/// Builds the groups section by section, in order of time.
class copy_waste_builder {
 public:
  /// `scope` must outlive this object.
  explicit copy_waste_builder(const metrics_scope& scope, copies_grouped which = copies_grouped::with_host)
      : scope_(scope), which_(which) {}

  /// Adds the copies that begin in `run`, the time range that `store` covers. O(copies * log copies).
  void add(const index::event_store& store, time_range run);
  /// Returns at most `most` groups, sorted by `alone`, then by `busy`; longest first.
  [[nodiscard]] std::vector<copy_group> groups(std::size_t most = limit) const;

  /// Small copies that are less than this many ns apart form a run.
  static constexpr time_ns longest_pause = 100'000;
  static constexpr std::size_t limit = 256;

 private:
  using way = std::tuple<trace::device_id, trace::direction, trace::memory_kind, trace::stack_id>;
  struct gathered {
    copy_group group;
    time_ns small_until = 0;    ///< End of the current run of small copies.
    progress_samples progress;  ///< For each copy, the total time for which the device's kernels had run before the
                                ///< copy.
  };
  const metrics_scope& scope_;
  const copies_grouped which_;
  std::set<std::pair<trace::device_id, trace::stream_id>> kernel_streams_;
  std::map<way, gathered> all_;
  std::map<trace::device_id, time_ns> kernel_time_;  ///< Total kernel time of each device in the sections so far.
};

}  // namespace sluice::metrics
