#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "core/figures/code_place.hpp"
#include "core/figures/duplicates.hpp"
#include "core/figures/waste/copy_waste.hpp"
#include "core/index/work/copy_contents.hpp"
#include "core/timeline/time_range.hpp"
#include "core/trace/model/model.hpp"

/// Copies by line of the program, and by size and rate. Sizes are in bytes, times in ns, rates in bytes per second.
namespace sluice::analysis {

/// The copies of one direction on one device that one line of the program asked for. Sums of the `copy_group`s that
/// findings are made of.
struct copy_line {
  code_place place;  ///< Unknown: no stack was recorded.
  trace::device_id device{};
  trace::direction direction = trace::direction::unknown;
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  std::uint64_t pageable_bytes = 0;  ///< Of `bytes`, those with the host side in pageable memory.
  std::uint64_t pinned_bytes = 0;    ///< Of `bytes`, those with the host side in page-locked memory.
  time_ns busy = 0;                  ///< Sum of the copies' durations.
  time_ns alone = 0;                 ///< The part in which no kernel ran. Meaningless unless `kernels_known`.
  bool kernels_known = false;        ///< The device ran kernels.
  time_ns queued = 0;                ///< From the calls to the copies' begins.
  std::uint64_t small = 0;           ///< Copies below `copy_group::small_copy` bytes.
  std::uint64_t small_bytes = 0;
  time_ns small_spread = 0;  ///< From the begin of the first to the end of the last of each run of small copies.
  bool storm = false;        ///< So many small copies that the report tells of them.
  time_range range;          ///< From the begin of the first copy to that of the last, + 1 ns.
  trace::event_id largest{};
  std::uint64_t largest_bytes = 0;
  copy_figures repeated;     ///< Copies of data that the device had been sent before.
  copy_figures round_trips;  ///< Copies of data that went to the host and came back: both ways.

  /// `bytes` / `busy`, in bytes per second.
  [[nodiscard]] double rate() const {
    return busy > 0 ? static_cast<double>(bytes) * 1e9 / static_cast<double>(busy) : 0;
  }
};

/// Data that one line copies to the host and one copies back, unchanged.
struct round_trip_line {
  code_place down;  ///< Of the copies to the host.
  code_place up;    ///< Of the copies to the device.
  copy_figures to_host;
  copy_figures to_device;
  trace::event_id largest{};  ///< The largest copy to the device.
};

/// Copies of one direction that are of about the same size and rate: both within an eighth of an octave.
struct copy_cell {
  trace::device_id device{};
  trace::direction direction = trace::direction::unknown;
  trace::memory_kind host_side = trace::memory_kind::unknown;
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;  ///< Of all.
  // The fastest of them.
  trace::event_id fastest{};
  std::uint64_t size = 0;
  double rate = 0;
  time_ns begin = 0;
  time_ns end = 0;

  static constexpr double parts_of_octave = 8;
};

struct copy_table {
  time_range range;
  std::vector<copy_line> lines;              ///< Longest duration first.
  std::vector<round_trip_line> round_trips;  ///< Most bytes first.
  std::vector<copy_cell> cells;              ///< By device, direction, host side, size, rate.
  std::uint64_t left_out = 0;                ///< Copies that have no rate: of no bytes, or no time.
  bool contents_checked = false;             ///< It is known which copies are repeated.
};

/// Makes the table of the copies that begin in a range, from indexes of sections in order of time.
class copy_lines_builder {
 public:
  /// `contents`: of the whole recording; both must outlive this.
  copy_lines_builder(const copy_contents& contents, const figures_scope& scope);

  /// Adds the copies that begin in `run`, the time range of `from`. O(copies * log).
  void add(const index& from, time_range run);
  /// O(groups of copies + cells).
  [[nodiscard]] copy_table table(code_places& places) const;

 private:
  using way = std::tuple<trace::device_id, trace::direction, trace::memory_kind>;
  using asked = std::tuple<trace::device_id, trace::direction, trace::stack_id>;
  struct needless {
    copy_figures repeated;
    copy_figures round_trips;
  };
  void add_to_cell(const struct copy_record& copy);

  const copy_contents& contents_;
  const figures_scope& scope_;
  const bool checked_;
  copy_waste_builder groups_;
  duplicates_builder duplicates_;
  std::unordered_map<std::uint64_t, needless> needless_;  ///< By event.
  std::map<asked, needless> needless_by_stack_;
  std::map<trace::device_id, bool> ran_kernels_;
  std::map<way, std::uint32_t> ways_;
  std::unordered_map<std::uint64_t, copy_cell> cells_;  ///< By way, size and rate.
  std::uint64_t left_out_ = 0;
};

}  // namespace sluice::analysis
