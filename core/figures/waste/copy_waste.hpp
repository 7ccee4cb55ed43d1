#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "core/figures/figures_scope.hpp"
#include "core/figures/waste/eighths.hpp"
#include "core/timeline/time_range.hpp"
#include "core/trace/model/model.hpp"

/// Copies between host and device by what makes them slow: pageable memory, small sizes, nothing that runs beside them.
/// Sizes are in bytes, times in ns.
namespace sluice::analysis {

class index;

/// The copies of one direction and kind of host memory that one call stack requested.
struct copy_group {
  trace::device_id device{};
  trace::direction direction = trace::direction::unknown;
  trace::memory_kind host_side = trace::memory_kind::unknown;
  trace::stack_id stack{};
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  time_ns busy = 0;         ///< Sum of the copies' durations.
  time_ns alone = 0;        ///< The part in which no kernel ran.
  time_ns queued = 0;       ///< From the call to the begin: what ran before on the stream, and for pageable memory the
                            ///< staging.
  std::uint64_t small = 0;  ///< Copies below `small_copy` bytes.
  std::uint64_t small_bytes = 0;
  time_ns small_spread = 0;  ///< From the begin of the first to the end of the last of each run of small copies.
  std::uint64_t on_kernels_stream = 0;  ///< Copies on a stream that also runs kernels.
  time_ns first = 0;                    ///< Begin of the first copy and of the last.
  time_ns last = 0;
  std::uint64_t spread = 0;  ///< In how many eighths of the kernels' time there are copies: 1 for what only sets up.
  trace::event_id largest{};
  std::uint64_t largest_bytes = 0;

  static constexpr std::uint64_t small_copy = std::uint64_t{64} << 10U;
};

/// Which copies are grouped.
enum class copies_grouped : std::uint8_t {
  with_host,  ///< Those whose host side is known: between host and device.
  all         ///< Also those inside a device, between devices, and whose host side is not known.
};

/// Collects these groups from indexes of sections, in order of time.
class copy_waste_builder {
 public:
  /// `scope` must outlive this.
  explicit copy_waste_builder(const figures_scope& scope, copies_grouped which = copies_grouped::with_host)
      : scope_(scope), which_(which) {}

  /// Adds the copies that begin in `run`, the time range of `from`. O(copies * log).
  void add(const index& from, time_range run);
  /// Longest time alone first, then longest busy; at most `most`.
  [[nodiscard]] std::vector<copy_group> groups(std::size_t most = limit) const;

  /// Small copies that follow one another within this time form a run.
  static constexpr time_ns longest_pause = 100'000;
  static constexpr std::size_t limit = 256;

 private:
  using way = std::tuple<trace::device_id, trace::direction, trace::memory_kind, trace::stack_id>;
  struct gathered {
    copy_group made;
    time_ns small_until = 0;    ///< End of the current run of small copies.
    progress_samples progress;  ///< How long the device's kernels had run before copies.
  };
  const figures_scope& scope_;
  const copies_grouped which_;
  std::set<std::pair<trace::device_id, trace::stream_id>> kernel_streams_;
  std::map<way, gathered> all_;
  std::map<trace::device_id, time_ns> kernel_time_;  ///< In the sections so far.
};

}  // namespace sluice::analysis
