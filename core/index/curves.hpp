#pragma once

#include <cstdint>
#include <vector>

#include "core/index/index.hpp"
#include "core/timeline/slice_set.hpp"
#include "core/timeline/time_tree.hpp"
#include "core/trace/model/summary_rows.hpp"

/// All that an index can draw over time, as lists: its curves and its rows of slices, each with what tells it apart. Their
/// `trace::curve_row` and `trace::lane_row` are the same whether a recording was taken in whole, in part, or is read from the
/// summaries of its file.
namespace sluice::analysis {

struct tensor_facts;

/// A curve of an index, valid as long as nothing is taken in.
struct index_curve {
  trace::curve_row about;                         ///< `curve` is its place in the list.
  const timeline::level_tree* steps = nullptr;    ///< Either this
  const timeline::sample_tree* sample = nullptr;  ///< or that.

  template <class Each>
  void split(time_range over, std::uint32_t width, Each&& each) const {
    steps != nullptr ? steps->split(over.begin, over.end, width, each)
                     : sample->split(over.begin, over.end, width, each);
  }
  [[nodiscard]] timeline::extent over(time_range range) const {
    return steps != nullptr ? steps->over(range.begin, range.end) : sample->over(range.begin, range.end);
  }
  [[nodiscard]] double at(time_ns time) const { return steps != nullptr ? steps->at(time) : sample->at(time); }
};

/// The curves of `from`, those by category if there are `facts`. `about.maximum` is over `whole`. O(curves * log events).
[[nodiscard]] std::vector<index_curve> curves_of(const index& from, const tensor_facts* facts, time_range whole);

/// The slices of one owner: a stream, a direction, the ranges or the calls of a thread, the steps of a process.
struct index_slices {
  trace::lane_row about;  ///< Of its first lane.
  const timeline::slice_set* slices = nullptr;
};
/// Those of steps come last, if there are `facts`. What is given is valid as long as both.
[[nodiscard]] std::vector<index_slices> slices_of(const index& from, const tensor_facts* facts);

/// Whether two rows tell of the same curve, or of lanes of the same owner; their numbers may differ.
[[nodiscard]] bool same_curve(const trace::curve_row& a, const trace::curve_row& b);
[[nodiscard]] bool same_owner(const trace::lane_row& a, const trace::lane_row& b);

}  // namespace sluice::analysis
