#pragma once

#include <cstdint>
#include <tuple>
#include <vector>

#include "core/index/event_store.hpp"
#include "core/timeline/slice_set.hpp"
#include "core/timeline/time_tree.hpp"
#include "core/trace/model/summary_rows.hpp"

/// Lists everything that the window can draw over time from an index: its curves, and its slices (time intervals),
/// grouped by owner. A `trace::curve_row` identifies a curve, and a `trace::lane_row` identifies an owner. They are the
/// same in an index of the whole recording, in an index of a section, and in the summaries in the file.
namespace sluice::index {

struct tensor_facts;

/// A curve of an index. The pointers are valid until the index absorbs more chunks.
struct index_curve {
  trace::curve_row about;                         ///< `about.curve` is its position in the list.
  const timeline::level_tree* steps = nullptr;    ///< Null if the curve is sampled.
  const timeline::sample_tree* sample = nullptr;  ///< Null unless the curve is sampled.

  template <class Each>
  void split(time_range over, std::uint32_t width, Each&& each) const {
    steps != nullptr ? steps->split(over.begin, over.end, width, each)
                     : sample->split(over.begin, over.end, width, each);
  }
  [[nodiscard]] timeline::extent over(time_range range) const {
    return steps != nullptr ? steps->over(range.begin, range.end) : sample->over(range.begin, range.end);
  }
  /// True if the range contains no step, except possibly at its start. O(log steps).
  [[nodiscard]] bool is_constant_in(time_range range) const {
    return steps != nullptr ? is_constant_in(*steps, range) : is_constant_in(*sample, range);
  }
  [[nodiscard]] double at(time_ns time) const { return steps != nullptr ? steps->at(time) : sample->at(time); }

 private:
  template <class Tree>
  static bool is_constant_in(const Tree& tree, time_range range) {
    const auto* const last = tree.last_until(range.end - 1);
    return last == nullptr || last->time <= range.begin;
  }
};

/// Returns the curves of `store`. If `facts` is set, includes a curve for each category. `about.maximum` is the maximum
/// in `whole`. O(curves * log n).
[[nodiscard]] std::vector<index_curve> make_curves(const event_store& store, const tensor_facts* facts,
                                                   time_range whole);

/// False for kinds of memory that are only address ranges, which do not count as memory use.
[[nodiscard]] constexpr bool has_bytes(trace::memory_kind kind) {
  return kind != trace::memory_kind::reservation && kind != trace::memory_kind::mapping;
}
/// True for a memory curve of the driver layer whose bytes are always on its device or, if it has no device, always in
/// host memory.
[[nodiscard]] bool is_in_driver_stack(const trace::curve_row& curve);

/// The slices of one owner. An owner is a stream, a copy direction, the ranges or calls of a thread, or the steps of a
/// process.
struct index_slices {
  trace::lane_row about;  ///< Describes the owner's first lane.
  const timeline::slice_set* slices = nullptr;
};
/// Returns the slices of all owners. Steps come last, and are included only if `facts` is set. The result is valid
/// while `store` and `facts` exist.
[[nodiscard]] std::vector<index_slices> get_slices(const event_store& store, const tensor_facts* facts);

/// The members of a row that identify a curve or a lane's owner. These are all members except the number of the curve
/// or lane.
[[nodiscard]] inline auto identify_recording(const trace::curve_row& row) {
  return std::tie(row.type, row.layer, row.kind, row.way, row.category, row.device, row.pool, row.counter);
}
[[nodiscard]] inline auto find_owner(const trace::lane_row& row) {
  return std::tie(row.type, row.way, row.process, row.device, row.stream, row.thread);
}
[[nodiscard]] inline bool same_curve(const trace::curve_row& a, const trace::curve_row& b) {
  return identify_recording(a) == identify_recording(b);
}
[[nodiscard]] inline bool same_owner(const trace::lane_row& a, const trace::lane_row& b) {
  return find_owner(a) == find_owner(b);
}

}  // namespace sluice::index
