#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "core/base/time/time_range.hpp"
#include "core/metrics/base/octile_coverage.hpp"
#include "core/metrics/idle/gap_causes.hpp"
#include "core/timeline/slice_kind.hpp"
#include "core/trace/model/model.hpp"

/// Idle gaps, grouped by device, cause, call and stack, and the longest ones individually. Times are in ns.
namespace sluice::metrics {

/// The parts of idle gaps of a device that have the same cause, grouped by the nearest call stack.
struct gap_group {
  trace::device_id device{};
  gap_cause cause{};
  trace::string_id call{};  ///< The call that took the time; `none` if host code did.
  /// The innermost named range that covers half of the longest gap; `none` if there is no such range, or if the gap is
  /// shorter than `shortest_named` (`idle_gaps_builder`).
  trace::string_id range{};
  /// The stack of `call`. If `call` has no stack, or host code took the time, the first stack until the end of the gap,
  /// because the host code ran before it; else the last stack before.
  trace::stack_id stack{};
  bool stack_is_next = false;  ///< True if `stack` belongs to what the host did after the part.
  std::uint64_t count = 0;     ///< Number of gaps with such a part.
  /// Sum of the parts. The parts of all groups of a device add up to its idle time (`gap_splitter` divides each gap).
  time_ns total = 0;
  time_ns longest = 0;     ///< The longest sum of these parts in one gap.
  time_range longest_gap;  ///< That gap.
  /// `total` without the three longest gaps, because startup, compilation and saving happen only once.
  time_ns recurring = 0;
  std::uint64_t spread = 0;  ///< Number of eighths of the device's work that contain gaps.
  /// The part of `recurring` that would be saved without the calls. A call that blocks the host keeps the host from
  /// running ahead of the device. This can cost more or less than the gap itself. `saved` is this group's share of the
  /// cost of all such calls: see `gain_of_running_ahead`.
  time_ns saved = 0;
};

/// An interval in which a device was idle.
struct idle_gap {
  trace::device_id device{};
  time_range span;
  gap_cause cause{};              ///< The cause of most of the gap.
  time_ns caused = 0;             ///< The part of `span` that `cause` explains. The rest has other causes.
  trace::string_id call{};        ///< As in `gap_group`.
  trace::stack_id stack{};        ///< As in `gap_group`.
  bool stack_is_next = false;     ///< As in `gap_group`.
  trace::string_id range{};       ///< As in `gap_group`.
  timeline::slice_kind before{};  ///< The kind of work that ended when the gap began.
  trace::event_id after{};        ///< The work that ended the gap.
  timeline::slice_kind after_kind{};
  trace::string_id after_name{};
};

/// The distribution of the lengths of all gaps on a device.
struct gap_lengths {
  struct bin {
    std::uint64_t count = 0;
    time_ns total = 0;
  };
  std::uint64_t count = 0;
  time_ns total = 0;
  /// Bin i counts gaps of [2^i, 2^(i+1)) ns.
  std::array<bin, 63> bins{};

  void add(time_ns length);
};

/// Gathers gap groups. A group costs memory once; a gap that falls into a known group costs O(1).
class gap_groups {
 public:
  /// Counts a part of `gap` that takes `length` ns in the group with the device, cause, call and stack of `one`.
  /// `progress`: the time for which the device had been busy before the gap.
  void count(const gap_group& one, time_range gap, time_ns length, time_ns progress);

  /// Returns all groups, sorted by `total`, longest first. `busy`: for each device, the time for which it was busy.
  /// `gain`: the time that would be gained if no call blocked the host, or negative if that is unknown.
  [[nodiscard]] std::vector<gap_group> get_groups(const std::map<trace::device_id, time_ns>& busy, time_ns gain) const;

 private:
  struct key {
    trace::device_id device{};
    gap_cause cause{};
    trace::string_id call{};
    trace::stack_id stack{};
    friend auto operator<=>(const key&, const key&) = default;
  };
  struct hash {
    std::size_t operator()(const key& subject) const;
  };
  struct gathered {
    gap_group group;
    std::array<time_ns, 3> longest{};  ///< The lengths of the longest gaps, longest first.
    progress_samples progress;         ///< For each gap, the time for which the device had been busy before the gap.
  };
  std::unordered_map<key, gathered, hash> all_;
};

/// Keeps the longest gaps of each device, and the distribution of all lengths.
class longest_gaps {
 public:
  /// `listed`: the number of gaps of each device that are kept; 0: nothing is kept.
  explicit longest_gaps(std::size_t listed) : listed_(listed) {}
  [[nodiscard]] bool keeps() const { return listed_ > 0; }
  void add(const idle_gap& gap);
  /// Returns the kept gaps, longest first.
  [[nodiscard]] std::vector<idle_gap> get_longest() const;
  [[nodiscard]] const std::map<trace::device_id, gap_lengths>& lengths() const { return lengths_; }

 private:
  std::size_t listed_;
  std::map<trace::device_id, std::vector<idle_gap>> longest_;  ///< Each list is a heap with the shortest gap first.
  std::map<trace::device_id, gap_lengths> lengths_;
};

}  // namespace sluice::metrics
