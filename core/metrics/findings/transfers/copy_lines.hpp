#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "core/base/time/time_range.hpp"
#include "core/index/work/copy_calls.hpp"
#include "core/index/work/copy_contents.hpp"
#include "core/metrics/base/code_place.hpp"
#include "core/metrics/findings/transfers/copy_waste.hpp"
#include "core/metrics/statistics/duplicates.hpp"
#include "core/trace/model/model.hpp"

/// Groups copies by program line, and by size and rate. Sizes are in bytes, times in ns, and rates in bytes per second.
namespace sluice::metrics {

/// The copies of one direction on one device that one program line requested. The numbers are sums over the same
/// `copy_group`s that findings use.
struct copy_line {
  code_place place;  ///< `known` is false if no stack was recorded.
  trace::device_id device{};
  trace::direction direction = trace::direction::unknown;
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  std::uint64_t pageable_bytes = 0;  ///< The part of `bytes` whose host side is in pageable memory.
  std::uint64_t pinned_bytes = 0;    ///< The part of `bytes` whose host side is in page-locked memory.
  time_ns busy = 0;                  ///< Sum of the copies' durations.
  /// The part of `busy` in which no kernel ran. Meaningless if `kernels_known` is false.
  time_ns alone = 0;
  bool kernels_known = false;  ///< True if the device ran kernels.
  time_ns queued = 0;          ///< Sum of the times from the call to the start of the copy.
  std::uint64_t small = 0;     ///< Number of copies smaller than `copy_group::small_copy` bytes.
  std::uint64_t small_bytes = 0;
  /// The time from the start of the first copy to the end of the last, summed over runs of small copies.
  time_ns small_spread = 0;
  bool storm = false;  ///< True if there are enough small copies for the report to mention them.
  time_range range;    ///< From the start of the first copy to 1 ns after the start of the last copy.
  trace::event_id largest{};
  std::uint64_t largest_bytes = 0;
  copy_metrics repeated;     ///< Copies of data that had already been sent to the device.
  copy_metrics round_trips;  ///< Copies, in either direction, of data that was copied to the host and back unchanged.

  /// `bytes` / `busy`, in bytes per second.
  [[nodiscard]] double rate() const {
    return busy > 0 ? static_cast<double>(bytes) * 1e9 / static_cast<double>(busy) : 0;
  }
};

/// Data that one line copies to the host and another copies back unchanged.
struct round_trip_line {
  code_place down;  ///< The line that copies to the host.
  code_place up;    ///< The line that copies to the device.
  copy_metrics to_host;
  copy_metrics to_device;
  trace::event_id largest{};  ///< The largest copy to the device.
};

/// Copies of one direction whose sizes and rates are nearly equal. The sizes lie within an eighth of an octave, and so
/// do the rates.
struct copy_cell {
  trace::device_id device{};
  trace::direction direction = trace::direction::unknown;
  trace::memory_kind host_side = trace::memory_kind::unknown;
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;  ///< Total size of the copies.
  // The members from here on describe the fastest copy.
  trace::event_id fastest{};
  std::uint64_t size = 0;
  double rate = 0;
  time_ns begin = 0;
  time_ns end = 0;

  static constexpr double parts_of_octave = 8;
};

/// The result of `copy_lines_builder`.
struct copy_table {
  time_range range;
  std::vector<copy_line> lines;              ///< Sorted by duration, longest first.
  std::vector<round_trip_line> round_trips;  ///< Sorted by bytes, most first.
  std::vector<copy_cell> cells;              ///< Sorted by device, direction, host side, size and rate.
  std::uint64_t left_out = 0;                ///< Number of copies without a rate, because their size or duration is
                                             ///< zero.
  /// True if the contents of copies were checked, so that repeated copies are known.
  bool contents_checked = false;
};

/// Builds the table of the copies that begin in a range, section by section in order of time.
class copy_lines_builder {
 public:
  /// `contents` covers the whole recording. Both arguments must outlive this object.
  copy_lines_builder(const index::copy_contents& contents, const metrics_scope& scope);

  /// Adds the copies that begin in `run`, the time range that `store` covers. O(copies * log copies).
  void add(const index::event_store& store, time_range run);
  /// Returns the table. O(groups of copies + cells).
  [[nodiscard]] copy_table table(code_places& places) const;

 private:
  using way = std::tuple<trace::device_id, trace::direction, trace::memory_kind>;
  using asked = std::tuple<trace::device_id, trace::direction, trace::stack_id>;
  struct needless {
    copy_metrics repeated;
    copy_metrics round_trips;
  };
  void add_to_cell(const index::copy_record& copy);

  const index::copy_contents& contents_;
  const metrics_scope& scope_;
  const bool checked_;
  copy_waste_builder groups_;
  duplicates_builder duplicates_;
  std::unordered_map<std::uint64_t, needless> needless_;  ///< Indexed by event id.
  std::map<asked, needless> needless_by_stack_;
  std::map<trace::device_id, bool> ran_kernels_;
  std::map<way, std::uint32_t> ways_;
  std::unordered_map<std::uint64_t, copy_cell> cells_;  ///< Indexed by direction and memory (`way`), size and rate.
  std::uint64_t left_out_ = 0;
};

}  // namespace sluice::metrics
